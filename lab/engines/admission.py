"""What is judged of a run before anything is downloaded: its engine, its versions, its knobs, its texts, its room."""

from collections.abc import Callable
from pathlib import Path

from kvtiers.model import kv_spec
from lab.engines.card import CardShare, card_share
from lab.engines.install import pinned_versions, refuse_known_bad
from lab.engines.models import preset_config, weight_bytes
from lab.engines.ports import ports_from
from lab.errors import LabError
from lab.knobs import Pool, pool_for
from lab.launches import LocalRun, bytes_stored
from lab.measure.chunks import check_cache_root
from lab.measure.documents import read_texts
from machine import MachineError
from machine.commands import ENGINES
from machine.gpu import Choice, choose
from progress import say


def chosen(engine: str, *, must_run: bool = True) -> Choice:
    """The engine with its card. A run that is only printed may be another machine's."""
    if engine not in ENGINES:
        raise LabError(f"--engine must be cpu, cuda or auto, got {engine!r}")
    try:
        choice = choose(engine)
    except MachineError as reason:
        if must_run:
            raise
        choice = Choice(engine, why=str(reason))
    if choice.why:
        say(f"no GPU can be used: {choice.why}")
    return choice


def planned(
    engine: str, preset: str | None, run_on: Callable[[Choice], LocalRun], *, must_run: bool = True
) -> LocalRun:
    """The run on the engine that is wanted; where neither that nor a preset is named, on one that fits."""
    choice = chosen(engine, must_run=must_run)
    if engine != "auto" or preset:
        return run_on(choice)
    fits, run = fitting(choice, run_on)
    if fits is not choice:
        say(f"no GPU can be used: {fits.why}")
    return run


def fitting(choice: Choice, run_on: Callable[[Choice], LocalRun]) -> tuple[Choice, LocalRun]:
    """The run on what was chosen; on the CPU where it was a card that does not hold that run's engines."""
    run = run_on(choice)
    share = _share(run)
    if share is None or share.engines >= run.least_engines:
        return choice, run
    choice = Choice("cpu", why=share.complaint(run.least_engines))
    return choice, run_on(choice)


def admit(run: LocalRun, *, will_start: bool) -> None:
    """Refuse what set-up and download would not mend. Makes nothing but, where it ``will_start``, the cache directory.

    Raises:
        LabError: with what to do.
    """
    engine = run.preset.engine
    if not run.known_bad:
        refuse_known_bad(pinned_versions(engine), run.lmcache_mode, engine)
    pool = _pool(run)
    read_texts(run.document_paths)
    if run.port is not None:
        ports_from(run.port, run.ports)
    if will_start:
        if share := _share(run):
            share.require(run.least_engines)
        check_cache_root(run.cache_root, bytes_stored(run, pool))


def _pool(run: LocalRun) -> Pool:
    """With 0 bytes a token where only the model, which is not here yet, tells more."""
    preset = run.preset
    kv_bytes: float = preset.kv_bytes_per_token or 0
    if not kv_bytes and Path(preset.model).is_absolute():
        kv_bytes = kv_spec(preset_config(preset)).bytes_per_token
    return pool_for(run.knobs, preset.block_tokens, kv_bytes, seeded=not run.document_paths)


def _share(run: LocalRun) -> CardShare | None:
    """What it takes of its card, at least; None where it uses none."""
    if run.card is None:
        return None
    path = Path(run.preset.model)
    weights = weight_bytes(run.preset, path if path.is_absolute() else None)
    return card_share(run.card, _pool(run), weights, with_server=run.is_mp)
