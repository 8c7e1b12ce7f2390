"""Virtual environments, and installing a lock into one with pip: from wheels only, a failure said in one line.

``python3 -m machine.environment`` sets up the project's own, ``.venv``, with this Python.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from machine import MachineError

REPOSITORY = Path(__file__).resolve().parent.parent
_NOT_FOUND = re.compile(r"No matching distribution found for (?P<package>[^\s;]+)")
_PACKAGE = re.compile(r"^(?:Collecting|Requirement already satisfied:) (?P<package>[^\s;]+)")
UNPACKING = "unpacking"
# What is in pip's output, and what helps.
_CURES = {
    "No space left on device": "The drive is full: make room.",
    "DO NOT MATCH THE HASHES": "The index gave another file than the lock names: a proxy or mirror changed it.",
    "Retrying|Could not find a version|ConnectionError|HTTP error": (
        "The package index refused it or can't be reached: check the network, proxy or mirror."
    ),
}
_RESUMES = "Running the same command again resumes where it broke off."


def make(directory: Path) -> Path:
    """An environment of this Python with pip in it: the one that is there, or a new one. Returns its interpreter.

    Raises:
        MachineError: with what venv said.
    """
    python = directory / "bin" / "python"
    if directory.exists() and not _has_pip(python):
        print(f"{directory.name} is broken: building it anew", file=sys.stderr)
        shutil.rmtree(directory)
    if not directory.exists():
        made = subprocess.run([sys.executable, "-m", "venv", directory], capture_output=True, text=True, check=False)
        if made.returncode:
            shutil.rmtree(directory, ignore_errors=True)
            said = " ".join((made.stdout + made.stderr).strip().splitlines()[-2:])
            raise MachineError(f"making a virtual environment in {directory} failed: {said}")
    return python


def set_up_project(directory: Path, lock: Path) -> None:
    """The project's environment, made or completed.

    Raises:
        MachineError: with what to do.
    """
    total, seen = packages(lock), 0
    print(f"the project's environment: 0.2 GB to download, 1 GB in {directory.name}, about a minute", flush=True)
    python, shows = make(directory), sys.stdout.isatty()

    def show(package: str) -> None:
        nonlocal seen
        seen += package != UNPACKING
        if shows:
            print(f"\r\033[K  {seen}/{total} {package}", end="", flush=True)

    try:
        install(python, lock, show)
    finally:
        if shows:
            print("\r\033[K", end="")
    (directory / "complete").touch()


def pip_command(python: Path, lock: Path, *options: str) -> list[str]:
    """pip, taking exactly what the lock lists, and nothing that would have to be built."""
    pip = [str(python), "-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    # Python compiles what it imports, a fifth of what there is: pip would compile all of it first.
    return [*pip, "--no-compile", "--progress-bar", "off", "--disable-pip-version-check", *options, "-r", str(lock)]


def packages(lock: Path) -> int:
    """How many packages a lock lists, those of other platforms included."""
    return sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())


def install(python: Path, lock: Path, on_package: Callable[[str], None]) -> None:
    """Install a lock. pip skips what is already there, so a broken-off installation resumes. ``on_package`` is told
    each package's name as pip comes to it, and UNPACKING at the end.

    Raises:
        MachineError: with the package it stopped at, the reason, and what to do.
    """
    output: list[str] = []
    at = ""
    # pip's downloads go where the environment goes: /tmp may be small, and in memory.
    with tempfile.TemporaryDirectory(prefix="pip-", dir=python.parent.parent) as directory:
        running = subprocess.Popen(
            pip_command(python, lock),
            env=os.environ | {"TMPDIR": directory},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with running:
            assert running.stdout is not None
            try:
                for line in running.stdout:
                    output.append(line.strip())
                    if match := _PACKAGE.match(line):
                        at = match["package"]
                        on_package(at)
                    elif line.startswith("Installing collected packages"):
                        at = UNPACKING
                        on_package(at)
            except BaseException:
                running.terminate()
                raise
    if running.returncode:
        raise MachineError(explain(lock.name, at, output))


def explain(lock_name: str, at: str, output: Sequence[str]) -> str:
    """Why pip failed. ``at``: the last package it came to, or UNPACKING; ``output``: its lines."""
    whole = "\n".join(output)
    errors = [line.removeprefix("ERROR: ") for line in output if line.startswith("ERROR:")] or list(output[-1:])
    if match := _NOT_FOUND.search(whole):
        at = match["package"]
    reason = f"installing {lock_name} failed at {at or 'its first package'}: {' '.join(errors[:1])[:400]}."
    cure = next((cure for words, cure in _CURES.items() if re.search(words, whole)), None)
    return " ".join(filter(None, (reason, cure, _RESUMES)))


def _has_pip(python: Path) -> bool:
    try:
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    try:
        set_up_project(REPOSITORY / ".venv", REPOSITORY / "requirements" / "project.txt")
    except (MachineError, OSError) as error:
        sys.exit(f"error: {error}")
