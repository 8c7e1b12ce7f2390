"""``lab pairs``: one environment a pair, one row a pair and mode, written after each."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.errors import KvtiersError
from kvtiers.result.pairs import SCHEMA, PairRun, PairRuns, read_pairs
from kvtiers.result.schema import dump
from kvtiers.settings.version_pairs import LMCacheMode, numbers
from kvtiers.units import format_seconds
from lab.cli_options import CacheDirectory, StartTimeout
from lab.engines.install import set_up
from lab.engines.models import bring
from lab.engines.presets import PRESETS
from lab.errors import LabError
from lab.launches import DEFAULT_CACHE_ROOT, DEFAULT_START_TIMEOUT_S
from lab.pairs.grid import VersionPair, grid, named
from lab.pairs.layers import LAYERS, LMCACHE, VLLM, drop
from lab.pairs.prove import installed, not_tried, prove
from lab.paths import RESULTS, engine_environment
from lab.report import outcome
from lab.run_directory import alone, run_directory
from machine import MachineError
from progress import add_bar, bars, say

_ENVIRONMENTS = LAYERS / "environments"
_MODES = (LMCacheMode.MP, LMCacheMode.IN_PROCESS)

Named = Annotated[list[str] | None, typer.Argument(metavar="[VLLM:LMCACHE]...", help="Pairs, as 0.31.0:0.5.5.")]
Versions = Annotated[
    list[str] | None, typer.Option(help="A version or a range, 0.28.0.. or 0.28.0..0.30.0; repeatable.")
]
Modes = Annotated[list[LMCacheMode] | None, typer.Option(help="Only so wired; repeatable. Both by default.")]
Output = Annotated[Path, typer.Option(help="The result file; what it holds already is not run again.")]


def pairs(
    pair: Named = None,
    vllm: Versions = None,
    lmcache: Versions = None,
    mode: Modes = None,
    cache_dir: CacheDirectory = DEFAULT_CACHE_ROOT,
    start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    again: Annotated[bool, typer.Option("--again", help="Run anew what the result file holds already.")] = False,
    output: Output = RESULTS / "pairs.json",
) -> None:
    """Which versions of vLLM and LMCache go together? Named pairs, or each --vllm with each --lmcache; on the CPU."""
    if bool(vllm) != bool(lmcache) or not (pair or vllm):
        raise LabError("name pairs, as in `pairs 0.31.0:0.5.5`, or give --vllm and --lmcache")
    outcome.check_writable(output)
    known = _read(output)
    base = engine_environment("cpu")
    set_up("cpu")
    bring(PRESETS["tiny"])
    wanted = list(dict.fromkeys([*map(named, pair or ()), *(grid(vllm, lmcache, base) if vllm and lmcache else ())]))
    final = {run.key for run in known.runs if run.verdict.is_final and not again}
    modes = [each for each in _MODES if not mode or each in mode]
    left = [(each, so) for each in wanted for so in modes if (each.vllm, each.lmcache, so) not in final]
    say(f"{len(wanted)} pairs in {len(modes)} modes: {len(left)} runs to do")
    started = time.monotonic()
    with alone(LAYERS), bars() as progress:
        bar = add_bar(progress, "pairs", len(left))
        for done, run in enumerate(_runs(left, base, cache_dir, start_timeout), start=1):
            known = with_run(known, run)
            outcome.write(dump(known), output)
            left_s = (time.monotonic() - started) / done * (len(left) - done)
            say(f"{_said(run)}; {done}/{len(left)}, about {left_s / 60:.0f} min left")
            bar.advance()
    show(known, Console(highlight=False))
    say(f"written: {output}")


def _runs(
    left: Sequence[tuple[VersionPair, LMCacheMode]], base: Path, cache_root: Path, start_timeout_s: float
) -> Iterator[PairRun]:
    """One after the other; a layer that none of the rest needs goes, so that few lie on the drive at once."""
    modes_of: dict[VersionPair, list[LMCacheMode]] = {}
    for pair, mode in left:
        modes_of.setdefault(pair, []).append(mode)
    wanted = list(modes_of)
    for at, (pair, modes) in enumerate(modes_of.items()):
        with run_directory(_ENVIRONMENTS) as directory, ExitStack() as stack:
            try:
                stack.enter_context(installed(pair, base, directory / "environment"))
            except (LabError, MachineError) as error:
                for mode in modes:
                    yield not_tried(pair, mode, cache_root, str(error))
            else:
                for mode in modes:
                    yield prove(pair, mode, cache_root, start_timeout_s)
        later = wanted[at + 1 :]
        if pair.vllm not in {each.vllm for each in later}:
            drop(VLLM, pair.vllm)
        if pair.lmcache not in {each.lmcache for each in later}:
            drop(LMCACHE, pair.lmcache)


def _read(path: Path) -> PairRuns:
    try:
        return read_pairs(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return PairRuns(SCHEMA, ())
    except (OSError, UnicodeDecodeError, KvtiersError) as error:
        raise LabError(f"{path}: {error}: name another file with --output") from error


def with_run(known: PairRuns, run: PairRun) -> PairRuns:
    """A final row gives way only to another final one."""
    old = next((each for each in known.runs if each.key == run.key), None)
    if old and old.verdict.is_final and not run.verdict.is_final:
        return known
    runs = [*(each for each in known.runs if each.key != run.key), run]
    runs.sort(key=lambda each: (numbers(each.vllm), numbers(each.lmcache), each.mode), reverse=True)
    return replace(known, runs=tuple(runs))


def show(known: PairRuns, console: Console) -> None:
    """Its table."""
    printed = Table("vLLM", "LMCache", "mode", "verdict", "TTFT", "cause", box=box.SIMPLE, show_edge=False)
    for run in known.runs:
        printed.add_row(run.vllm, run.lmcache, run.mode, run.verdict, _times(run), run.cause)
    console.print(printed)


def _said(run: PairRun) -> str:
    parts = [f"vLLM {run.vllm} + LMCache {run.lmcache} {run.mode}: {run.verdict}", _times(run), run.cause]
    return ", ".join(filter(None, parts))


def _times(run: PairRun) -> str:
    return ", ".join(f"{step} {format_seconds(seconds)}" for step, seconds in run.ttft_s.items())
