"""What a run would use on this machine, what is missing, and what it takes: ten lines, and nothing is installed."""

import platform
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from kvtiers.units import GIB, format_bytes
from lab.engines.admission import fitting
from lab.engines.presets import DEFAULT_PRESET, PRESETS, Preset
from lab.knobs import Knobs
from lab.launches import (
    DEFAULT_CACHE_ROOT,
    LocalRun,
    bytes_stored,
    engines_at_once,
    pool_of,
    share_of_card,
    storage_for,
)
from lab.measure.chunks import supports_direct_io
from lab.paths import engine_environment
from lab.run_directory import run_directory
from machine import MachineError, kinds, pythons, space
from machine.gpu import Choice, choose, in_wsl
from machine.limits import available_memory_bytes
from machine.mounts import mount_of
from machine.needs import missing
from machine.packages import install_line, is_root, manager

_ARMS = {0: "not even one engine fits", 1: "one engine at a time", 2: "both arms at once"}
_IN_WSL = "yes: memory is pinned (VLLM_WSL2_ENABLE_PIN_MEMORY=1), KV goes through shared memory; not run"


@dataclass(frozen=True)
class Line:
    """One thing that was looked at. ``bad``: a run would stop there."""

    what: str
    said: str
    bad: bool = False


def readiness() -> list[Line]:
    """What stands in the way of a run on the best engine that this machine has, and what that run would take."""
    choice, run = fitting(choose("auto"), _default_run)
    return [
        _gpu(choice),
        Line("engine", choice.engine),
        _well("Python", pythons.complaint("lab", with_engine=True), platform.python_version()),
        _kind(choice.engine),
        _system(choice.engine),
        Line("WSL2", _IN_WSL if in_wsl() else "no"),
        _memory(run),
        _card(run),
        _well("set up", space.complaint("lab", choice.engine), _left_to_bring(run.preset)),
        _drive(run),
    ]


def _default_run(choice: Choice) -> LocalRun:
    return LocalRun(PRESETS[DEFAULT_PRESET[choice.engine]], Knobs(), card=choice.card)


def _well(what: str, complaint: str, otherwise: str) -> Line:
    return Line(what, complaint or otherwise, bool(complaint))


def _gpu(choice: Choice) -> Line:
    card = choice.card
    if card is None:
        return Line("GPU", choice.why)
    major, minor = card.capability
    free = format_bytes(card.free_bytes)
    return Line("GPU", f"{card}, {free} free; driver {card.driver}, compute capability {major}.{minor}")


def _kind(engine: str) -> Line:
    try:
        return Line("system", kinds.remark(kinds.this_kind(), "lab", engine) or platform.platform())
    except MachineError as error:
        return Line("system", str(error), bad=True)


def _system(engine: str) -> Line:
    complaint = ""
    if lacking := missing("lab", engine):
        wanted, line = ", ".join(need.what for need in lacking), install_line(lacking, manager(), is_root())
        complaint = f"missing: {wanted}; this brings it: {line}"
    return _well("packages", complaint, "the system has what it must bring")


def _memory(run: LocalRun) -> Line:
    pool, free = pool_of(run), available_memory_bytes()
    storage = storage_for(run, pool, Path("/"), direct_io=True)
    complaint = space.unshared("lab", run.preset.engine)
    if run.preset.engine == "cpu" and not complaint:
        try:
            engines_at_once(run, pool, storage)
        except MachineError as error:
            complaint = str(error)
    l1_bytes = GIB * storage.l1_gib
    had = "not told" if free is None else f"{format_bytes(free)} can be had"
    said = f"LMCache's server keeps up to {format_bytes(l1_bytes)} of KV there; {had}"
    return Line("RAM", complaint or said, bool(complaint) or (free is not None and free < l1_bytes))


def _card(run: LocalRun) -> Line:
    share = share_of_card(run, pool_of(run))
    if share is None:
        return Line("preset", f"{run.preset.name}: {run.preset.about}")
    takes = format_bytes(share.engine_bytes + share.server_bytes)
    how = f"{_ARMS[share.engines]}, --gpu-memory-utilization {share.utilization:g}"
    runs = [replace(run, preset=preset) for preset in PRESETS.values() if preset.engine == "cuda"]
    others = [each.preset.name for each in runs if (its := share_of_card(each, pool_of(each))) and its.engines]
    said = f"{run.preset.name} takes about {takes} of the card (estimated): {how}; presets that fit: "
    return Line("preset", said + (", ".join(others) or "none"), not share.engines)


def _left_to_bring(preset: Preset) -> str:
    there = (engine_environment(preset.engine) / "complete.json").is_file()
    size = "is there" if there else f"takes up to {space.engine_bytes(preset.engine) / 1e9:.0f} GB"
    engine = space.remark("lab", preset.engine) or f"the {preset.engine} engine {size}"
    if Path(preset.model).is_absolute():
        model = "the model is made here"
    else:
        model = f"{preset.model}, {preset.weight_bytes / 1e9:.1f} GB, comes from Hugging Face unless it is there"
    return f"{engine}; {model}"


def _drive(run: LocalRun) -> Line:
    place = next(path for path in (DEFAULT_CACHE_ROOT, *DEFAULT_CACHE_ROOT.parents) if path.is_dir())
    free, needed = shutil.disk_usage(place).free, bytes_stored(run, pool_of(run))
    with run_directory(place) as directory:
        direct = supports_direct_io(directory)
    said = f"{mount_of(place).file_system}, {format_bytes(free)} free; a run writes about {format_bytes(needed)} of KV"
    io = "direct IO works" if direct else "direct IO does not work: files are pushed out of the page cache instead"
    return Line("drive", f"{said}; {io}", free < needed)
