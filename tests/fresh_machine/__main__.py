"""Proves that the README's commands work on a fresh machine: in a bare Debian 12 and a bare Debian 13.

Each is made with debootstrap below .lab/fresh/, gets a clone of what is committed at HEAD and this machine's route to
its packages (apt's mirror, pip's and npm's registries, proxies, certificates), runs the commands, and is removed.

usage: make fresh-machine, or python -m tests.fresh_machine --help
"""

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from types import FrameType
from typing import NoReturn

from lab.paths import LOGS, REPOSITORY, STATE
from progress import Bar, add_bar, bars, console, say
from tests.fresh_machine.report import CommandResult, Report, SystemResult
from tests.fresh_machine.route import Mirror, NoRouteError, read_mirror
from tests.fresh_machine.system import CLONE, CODENAMES, System, SystemFailedError

HOME = STATE / "fresh"
LAST_LINES = 15


def main() -> int:
    """0 when every command passed on every system, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.fresh_machine", description=__doc__.splitlines()[0])
    parser.add_argument("--debian", nargs="+", choices=CODENAMES, default=list(CODENAMES), help="which systems")
    parser.add_argument("--make", nargs="+", default=["lab", "site", "test"], metavar="TARGET", help="which commands")
    parser.add_argument("--mirror", help="Debian's archive, where this machine's apt sources do not name it")
    parser.add_argument("--keep", action="store_true", help="do not remove the systems; the next run does")
    parser.add_argument("--shell", choices=CODENAMES, help="do nothing but open a shell in a system that was kept")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    try:
        _check_machine()
        with _alone():
            if options.shell:
                return System(options.shell, HOME, LOGS / "fresh").shell()
            mirror = Mirror(options.mirror, "") if options.mirror else read_mirror()
            return _prove(options.debian, options.make, mirror, options.keep)
    except (NoRouteError, SystemFailedError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("broken off")
        return 130


def _prove(versions: list[str], targets: list[str], mirror: Mirror, keep: bool) -> int:
    if _git("status", "--porcelain"):
        say("there are uncommitted changes; what is proven is HEAD, without them")
    systems = []
    for version in versions:
        system = System(version, HOME, LOGS / "fresh")
        _remove(system)
        try:
            systems.append(_prove_on(system, targets, mirror))
        finally:
            if keep:
                say(f"kept: python -m tests.fresh_machine --shell {version} opens a shell in it")
            else:
                _remove(system)
    cores = len(os.sched_getaffinity(0))
    report = Report(date.today().isoformat(), _git("rev-parse", "HEAD"), cores, tuple(systems))
    report.write(HOME / "report.json")
    console.print(*report.tables(), sep="\n")
    say(f"commit {report.commit[:10]}, {report.cores} cores; record: {HOME / 'report.json'}, logs: {LOGS / 'fresh'}")
    return 0 if report.passed else 1


def _remove(system: System) -> None:
    if system.root.exists():
        say(f"Debian {system.version}: removing {system.root}")
        system.remove()


def _prove_on(system: System, targets: list[str], mirror: Mirror) -> SystemResult:
    with bars() as progress:
        bar = add_bar(progress, f"Debian {system.version}", 2 + len(targets))
        started = time.monotonic()
        say(f"Debian {system.version}: debootstrap")
        left_out = system.make(mirror, bar.note)
        bootstrap_s = round(time.monotonic() - started, 1)
        if left_out:
            say(f"  left out, since it lies on this machine only: {', '.join(left_out)}")
        bar.advance()
        system.clone(REPOSITORY, bar.note)
        bar.advance()
        bare_bytes, python = system.disk_bytes(), system.packages().versions["python3"].split("-")[0]
        results = tuple(_run(system, target, bar) for target in targets)
    return SystemResult(system.version, python, bootstrap_s, bare_bytes, left_out, results)


def _run(system: System, target: str, bar: Bar) -> CommandResult:
    say(f"Debian {system.version}: make {target}")
    before, taken = system.packages(), system.disk_bytes()
    outcome = system.run(f"cd {CLONE} && make {target}", target, bar.note)
    after = system.packages()
    result = CommandResult(
        target,
        outcome.exit_code,
        round(outcome.seconds, 1),
        round(outcome.silence_s, 1),
        disk_bytes=system.disk_bytes() - taken,
        asked_for=tuple(sorted(after.asked_for - before.asked_for)),
        installed=tuple(" ".join(package) for package in sorted(after.versions.items() - before.versions.items())),
        last_lines=tuple(system.last_lines(target, LAST_LINES)) if outcome.exit_code else (),
    )
    say(f"  {result.fault or 'passed'} after {result.seconds:.0f} s")
    for line in result.last_lines:
        console.print(f"  {line}", markup=False)
    bar.advance()
    return result


def _check_machine() -> None:
    lacking = [] if os.geteuid() == 0 else ["root"]
    lacking += [name for name in ("apt-get", "debootstrap", "setpriv", "unshare") if not shutil.which(name)]
    if lacking:
        raise SystemFailedError(f"make fresh-machine needs root, apt and debootstrap; missing: {', '.join(lacking)}")


@contextmanager
def _alone() -> Iterator[None]:
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SystemFailedError(f"another make fresh-machine is at work in {HOME}") from error
        yield


def _git(*arguments: str) -> str:
    answer = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, text=True, check=True)
    return answer.stdout.strip()


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
