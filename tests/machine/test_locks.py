"""Every lock against the package index, for machines that we have and machines that we have not.

uv asks the index for its lists of files only; no wheel is downloaded. What it would take for a platform must stand in
the lock with that wheel's hash, or pip refuses it there.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from machine.kinds import ENGINE_GLIBC, PROJECT_GLIBC

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
_PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==\S+.*?(?=^[a-z0-9-]+==|\Z)", re.MULTILINE | re.DOTALL)


def hashes(lock: Path) -> dict[str, set[str]]:
    """sha256 of the files that a lock allows, by package; two pins of one package for two Pythons together."""
    allowed: dict[str, set[str]] = {}
    for pin in _PIN.finditer(lock.read_text()):
        allowed.setdefault(pin["name"], set()).update(re.findall(r"sha256:([0-9a-f]{64})", pin[0]))
    return allowed


def wheels(lock: Path, platform: str, python: str, directory: Path) -> dict[str, set[str]]:
    """sha256 of the wheels that fit a platform, by package, for all that the lock names there."""
    resolved = directory / "pylock.toml"
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-platform", platform, "--python-version", python, "--format", "pylock.toml"]
    done = subprocess.run(
        [*command, "--output-file", resolved, lock],
        env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{lock.name} on {platform}, Python {python}: {done.stderr}"
    listed = tomllib.loads(resolved.read_text())["packages"]
    return {package["name"]: {wheel["hashes"]["sha256"] for wheel in package["wheels"]} for package in listed}


def linux(processor: str, glibc: tuple[int, int]) -> str:
    return f"{processor}-manylinux_{glibc[0]}_{glibc[1]}"


PROJECT = [
    *(linux(processor, PROJECT_GLIBC) for processor in ("x86_64", "aarch64")),
    *("aarch64-apple-darwin", "x86_64-apple-darwin", "x86_64-pc-windows-msvc"),
]
CASES = [
    *(("project", platform, python) for platform in PROJECT for python in ("3.11", "3.14")),
    *(
        (lock, linux(processor, glibc), python)
        for (engine, processor), glibc in ENGINE_GLIBC.items()
        for lock in ({"cpu": ("engine-cpu", "engine-cpu-torch-cuda"), "cuda": ("engine-cuda",)}[engine])
        for python in ("3.11", "3.12", "3.13")
    ),
]


@pytest.mark.parametrize(("lock", "platform", "python"), CASES)
def test_a_lock_holds_the_wheels_of_a_platform(lock: str, platform: str, python: str, tmp_path: Path) -> None:
    file = REQUIREMENTS / f"{lock}.txt"
    allowed = hashes(file)
    found = wheels(file, platform, python, tmp_path)
    assert len(found) > 10
    assert {name: missing for name, fitting in found.items() if (missing := fitting - allowed[name])} == {}
