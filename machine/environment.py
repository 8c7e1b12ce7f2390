"""Virtual environments. ``python3 -m machine.environment`` sets up the project's own, ``.venv``, with this Python."""

import shutil
import subprocess
import sys
from pathlib import Path

from machine import pip
from machine.errors import MachineError

REPOSITORY = Path(__file__).resolve().parent.parent


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
    total, seen = pip.packages(lock), 0
    print(f"the project's environment: 0.2 GB to download, 1 GB in {directory.name}, about a minute", flush=True)
    python, shows = make(directory), sys.stdout.isatty()

    def show(package: str) -> None:
        nonlocal seen
        seen += package != pip.UNPACKING
        if shows:
            print(f"\r\033[K  {seen}/{total} {package}", end="", flush=True)

    try:
        pip.install(python, lock, show)
    finally:
        if shows:
            print("\r\033[K", end="")
    (directory / "complete").touch()


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
