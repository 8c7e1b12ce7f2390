"""Installing a lock with pip, from wheels only, and saying in one line why that failed."""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from machine.errors import MachineError

_NOT_FOUND = re.compile(r"No matching distribution found for (?P<package>[^\s;]+)")
_PACKAGE = re.compile(r"^(?:Collecting|Requirement already satisfied:) (?P<package>[^\s;]+)")
UNPACKING = "unpacking"
_RESUMES = "Running the same command again resumes where it broke off."


def command(python: Path, lock: Path, *options: str) -> list[str]:
    """pip, taking exactly what the lock lists, and nothing that would have to be built."""
    pip = [str(python), "-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    return [*pip, "--progress-bar", "off", "--disable-pip-version-check", *options, "-r", str(lock)]


def packages(lock: Path) -> int:
    """How many packages a lock lists, those of other platforms included."""
    return sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())


def install(python: Path, lock: Path, on_package: Callable[[str], None]) -> None:
    """Install a lock. pip skips what is already there, so a broken-off installation resumes.

    Args:
        python: the environment's interpreter.
        lock: with hashes.
        on_package: called with each package's name as pip comes to it, and with UNPACKING at the end.

    Raises:
        MachineError: with the package it stopped at, the reason, and what to do.
    """
    output: list[str] = []
    at = ""
    # pip's downloads go where the environment goes: /tmp may be small, and in memory.
    with tempfile.TemporaryDirectory(prefix="pip-", dir=python.parent.parent) as directory:
        pip = subprocess.Popen(
            command(python, lock),
            env=os.environ | {"TMPDIR": directory},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with pip:
            assert pip.stdout is not None
            try:
                for line in pip.stdout:
                    output.append(line.strip())
                    if match := _PACKAGE.match(line):
                        at = match["package"]
                        on_package(at)
                    elif line.startswith("Installing collected packages"):
                        at = UNPACKING
                        on_package(at)
            except BaseException:
                pip.terminate()
                raise
    if pip.returncode:
        raise MachineError(explain(lock.name, at, output))


def explain(lock_name: str, at: str, output: Sequence[str]) -> str:
    """Why pip failed. ``at``: the last package it came to, or UNPACKING; ``output``: its lines."""
    whole = "\n".join(output)
    errors = [line.removeprefix("ERROR: ") for line in output if line.startswith("ERROR:")] or list(output[-1:])
    if match := _NOT_FOUND.search(whole):
        at = match["package"]
    reason = f"installing {lock_name} failed at {at or 'its first package'}: {' '.join(errors[:1])[:400]}."
    if "No space left on device" in whole:
        cure = "The drive is full: make room."
    elif "DO NOT MATCH THE HASHES" in whole:
        cure = "The index gave another file than the lock names: a proxy or mirror changed it."
    elif any(word in whole for word in ("Retrying", "Could not find a version", "ConnectionError", "HTTP error")):
        cure = "The package index refused it or can't be reached: check the network, proxy or mirror."
    else:
        cure = ""
    return " ".join(filter(None, (reason, cure, _RESUMES)))
