"""One bare Debian in a folder: made with debootstrap, entered in namespaces of its own, removed again."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fresh_machine.contained import CONTAINED, Outcome, plain_lines, run_contained
from tests.fresh_machine.route import Mirror, hand_on

CODENAMES = {"12": "bookworm", "13": "trixie"}
# What the README asks for, and what `git clone` over https needs.
BARE = "python3,python3-venv,make,git,ca-certificates"
ENTER = Path(__file__).with_name("enter.sh")
CLONE = "kvtiers"
Tell = Callable[[str], None]


class SystemFailedError(Exception):
    """A bare system could not be made or removed."""


@dataclass(frozen=True)
class Packages:
    """The system's packages: versions by name, and which of them were asked for rather than brought along."""

    versions: dict[str, str]
    asked_for: frozenset[str]


class System:
    """A bare Debian of ``version`` below ``home``; what it shows while it is made stands below ``logs``."""

    def __init__(self, version: str, home: Path, logs: Path) -> None:
        self.version = version
        self.codename = CODENAMES[version]
        self.root = home / self.codename
        self._logs = logs

    def make(self, mirror: Mirror, tell: Tell) -> tuple[str, ...]:
        """Bootstrap it, and give it this machine's route to packages; the local places that the route leaves out.

        Raises:
            SystemFailedError: debootstrap's last lines.
        """
        bootstrap = ["debootstrap", "--force-check-gpg", "--variant=minbase", f"--include={BARE}"]
        bootstrap += [self.codename, str(self.root), mirror.archive]
        self._must(run_contained(bootstrap, self.log("debootstrap"), tell), "debootstrap")
        left_out = hand_on(mirror, self.codename, self.root)
        # As an image comes: no package lists, no packages' files.
        bare = "update-ca-certificates && apt-get clean && rm -r /var/lib/apt/lists"
        self._must(self.run(bare, "route", tell), "route")
        return left_out

    def clone(self, project: Path, tell: Tell) -> None:
        """Clone what is committed at ``project``'s HEAD into the system, with the system's own git.

        Raises:
            SystemFailedError: git's last lines.
        """
        bundle = self.root / "root" / "HEAD.bundle"
        subprocess.run(["git", "-C", project, "bundle", "create", "--quiet", bundle, "HEAD"], check=True)
        self._must(self.run(f"git clone --quiet HEAD.bundle {CLONE}", "clone", tell), "clone")
        bundle.unlink()

    def run(self, command: str, name: str, tell: Tell) -> Outcome:
        """Run a shell's ``command`` in it, as root after a login."""
        return run_contained([ENTER, self.root, f"cd && {command}"], self.log(name), tell)

    def shell(self) -> int:
        """Open a shell in it at this terminal; the shell's exit code.

        Raises:
            SystemFailedError: where no such system was kept.
        """
        if not self.root.exists():
            raise SystemFailedError(f"no Debian {self.version} was kept in {self.root}: run with --keep first")
        return subprocess.run([*CONTAINED, ENTER, self.root, "cd; exec bash"], check=False).returncode

    def log(self, name: str) -> Path:
        """Where the step of that name writes what it shows."""
        return self._logs / f"{self.codename}-{name}.log"

    def last_lines(self, name: str, number: int) -> list[str]:
        """The last lines that the step of that name showed."""
        return plain_lines(self.log(name).read_bytes())[-number:]

    def packages(self) -> Packages:
        """What is installed."""
        listed = self._ask("dpkg-query", "--show", "--showformat=${Package} ${Version}\\n").split()
        asked_for = self._ask("apt-mark", "showmanual").split()
        return Packages(dict(zip(listed[::2], listed[1::2], strict=True)), frozenset(asked_for))

    def disk_bytes(self) -> int:
        """What it takes on disk."""
        command = ["du", "--summarize", "--one-file-system", "--block-size=1", str(self.root)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0])

    def remove(self) -> None:
        """Delete the system, and nothing that is mounted below it.

        Raises:
            SystemFailedError: when something is mounted there.
        """
        if mounts := mounts_below(self.root, Path("/proc/self/mountinfo").read_text()):
            raise SystemFailedError(f"not removed: {mounts[0]} is mounted there; unmount it, then delete {self.root}")
        shutil.rmtree(self.root)

    def _ask(self, *command: str) -> str:
        return subprocess.run(["chroot", self.root, *command], capture_output=True, text=True, check=True).stdout

    def _must(self, outcome: Outcome, name: str) -> None:
        if outcome.exit_code:
            raise SystemFailedError("\n  ".join([f"{name} failed:", *self.last_lines(name, 5)]))


def mounts_below(folder: Path, mountinfo: str) -> list[Path]:
    """Mount points in or at ``folder``, from the text of a mountinfo."""
    points = (Path(line.split()[4].encode().decode("unicode_escape")) for line in mountinfo.splitlines())
    return [point for point in points if point.is_relative_to(folder)]
