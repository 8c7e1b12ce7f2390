"""What a run would use on this machine, what is missing, and what it takes: ten lines, and nothing is installed."""

import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kvtiers.units import GIB, format_bytes
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
from machine import kinds, pythons, space
from machine.errors import MachineError
from machine.gpu import Card, Choice, choose, in_wsl
from machine.limits import available_memory_bytes
from machine.mounts import mount_of
from machine.needs import missing
from machine.packages import install_line, is_root, manager

_ARMS = {0: "not even one engine fits", 1: "one engine at a time", 2: "both arms at once"}


@dataclass(frozen=True)
class Line:
    """One thing that was looked at. ``bad``: a run would stop there."""

    what: str
    said: str
    bad: bool = False


def readiness() -> list[Line]:
    """What stands in the way of a run on the best engine that this machine has, and what that run would take."""
    choice = choose("auto")
    preset = PRESETS[DEFAULT_PRESET[choice.engine]]
    run = LocalRun(preset, Knobs(), card=choice.card)
    return [
        _gpu(choice),
        Line("engine", choice.engine),
        _python(),
        _kind(choice.engine),
        _system(choice.engine),
        _windows(),
        _memory(run),
        _card(run),
        _left_to_bring(preset),
        *_drive(run),
    ]


def _gpu(choice: Choice) -> Line:
    card = choice.card
    if card is None:
        return Line("GPU", choice.why)
    major, minor = card.capability
    free = format_bytes(card.free_bytes)
    return Line("GPU", f"{card}, {free} free; driver {card.driver}, compute capability {major}.{minor}")


def _python() -> Line:
    complaint = pythons.complaint("lab", with_engine=True)
    return Line("Python", complaint or platform.python_version(), bool(complaint))


def _kind(engine: str) -> Line:
    try:
        return Line("system", kinds.remark(kinds.this_kind(), "lab", engine) or platform.platform())
    except MachineError as error:
        return Line("system", str(error), bad=True)


def _system(engine: str) -> Line:
    lacking = missing("lab", engine)
    if not lacking:
        return Line("packages", "the system has what it must bring")
    wanted = ", ".join(need.what for need in lacking)
    return Line(
        "packages", f"missing: {wanted}; this brings it: {install_line(lacking, manager(), is_root())}", bad=True
    )


def _windows() -> Line:
    if not in_wsl():
        return Line("WSL2", "no")
    return Line("WSL2", "yes: memory is pinned (VLLM_WSL2_ENABLE_PIN_MEMORY=1), KV goes through shared memory; not run")


def _memory(run: LocalRun) -> Line:
    pool = pool_of(run)
    storage, free = storage_for(run, pool, Path("/"), direct_io=True), available_memory_bytes()
    if short := space.unshared("lab", run.preset.engine):
        return Line("RAM", short, bad=True)
    if run.preset.engine == "cpu":
        try:
            engines_at_once(run, pool, storage)
        except MachineError as error:
            return Line("RAM", str(error), bad=True)
    l1_bytes = GIB * storage.l1_gib
    had = "not told" if free is None else f"{format_bytes(free)} can be had"
    said = f"LMCache's server keeps up to {format_bytes(l1_bytes)} of KV there; {had}"
    return Line("RAM", said, free is not None and free < l1_bytes)


def _card(run: LocalRun) -> Line:
    share = share_of_card(run, pool_of(run))
    if share is None:
        return Line("preset", f"{run.preset.name}: {run.preset.about}")
    takes = format_bytes(share.engine_bytes + share.server_bytes)
    how = f"{_ARMS[share.engines]}, --gpu-memory-utilization {share.utilization:g}"
    others = ", ".join(preset.name for preset in _fitting(share.card)) or "none"
    said = f"{run.preset.name} takes about {takes} of the card (estimated): {how}; presets that fit: {others}"
    return Line("preset", said, not share.engines)


def _fitting(card: Card) -> Iterator[Preset]:
    for preset in PRESETS.values():
        run = LocalRun(preset, Knobs(), card=card)
        share = share_of_card(run, pool_of(run))
        if preset.engine == "cuda" and share and share.engines:
            yield preset


def _left_to_bring(preset: Preset) -> Line:
    if no_room := space.complaint("lab", preset.engine):
        return Line("set up", no_room, bad=True)
    if (engine_environment(preset.engine) / "complete.json").is_file():
        engine = f"the {preset.engine} engine is there"
    else:
        engine = space.remark("lab", preset.engine) or (
            f"the {preset.engine} engine takes up to {space.engine_bytes(preset.engine) / 1e9:.0f} GB"
        )
    if Path(preset.model).is_absolute():
        return Line("set up", f"{engine}; the model is made here")
    size = f"{preset.weight_bytes / 1e9:.1f} GB"
    return Line("set up", f"{engine}; {preset.model}, {size}, comes from Hugging Face unless it is there")


def _drive(run: LocalRun) -> Iterator[Line]:
    place = next(path for path in (DEFAULT_CACHE_ROOT, *DEFAULT_CACHE_ROOT.parents) if path.is_dir())
    free, needed = shutil.disk_usage(place).free, bytes_stored(run, pool_of(run))
    said = f"{mount_of(place).file_system}, {format_bytes(free)} free; a run writes about {format_bytes(needed)} of KV"
    yield Line("drive", said, free < needed)
    with run_directory(place) as directory:
        direct = supports_direct_io(directory)
    yield Line("direct IO", "works" if direct else "does not work here: files are pushed out of the page cache instead")
