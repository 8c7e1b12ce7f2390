"""One pair in one mode, proven or not: the steps of ``lab run``, then faults out of ``lab survive``."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kvtiers.result.pairs import PairRun, PairVerdict
from kvtiers.result.schema import Result
from kvtiers.result.survival import Reply, Scenario, Survival
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.install import engine_versions
from lab.engines.presets import PRESETS
from lab.engines.process import tells_of_an_end
from lab.errors import LabError
from lab.judge.answers import wrong_answers
from lab.knobs import Knobs
from lab.launches import LocalRun
from lab.local_run import run_local
from lab.machine import describe
from lab.pairs.grid import VersionPair
from lab.pairs.layers import LMCACHE, VLLM, layer_of, make_environment
from lab.paths import ENGINE_VARIABLE, portable
from lab.trials.run import run_trials
from lab.trials.survive import SURVIVE
from machine import MachineError

_FAULTS = (Scenario.CLIENT_GONE, Scenario.CHUNK_LOST, Scenario.CHUNKS_SWAPPED)
# Of MP mode the steps themselves prove a restart.
FAULTS = {
    mode: {name: SURVIVE[name] for name in (*_FAULTS, *more)}
    for mode, more in ((LMCacheMode.MP, ()), (LMCacheMode.IN_PROCESS, (Scenario.ENGINE_RESTART,)))
}
_PRESET = PRESETS["tiny"]
_EXCEPTION = re.compile(r"\b\w*(?:Error|Exception)\b|\berror:")


@contextmanager
def installed(pair: VersionPair, base: Path, directory: Path) -> Iterator[None]:
    """The pair is the engine until the end, in an environment made in ``directory``.

    Raises:
        LabError, MachineError: it can't be installed.
    """
    layers = [*layer_of(VLLM, pair.vllm, base), *layer_of(LMCACHE, pair.lmcache, base)]
    make_environment(directory, layers, base)
    os.environ[ENGINE_VARIABLE] = str(directory)
    try:
        yield
    finally:
        del os.environ[ENGINE_VARIABLE]


def prove(pair: VersionPair, mode: LMCacheMode, cache_root: Path, start_timeout_s: float) -> PairRun:
    """What the installed pair does, so wired. Only MP mode finds anything after a restart."""
    knobs = Knobs(repeats=1, control=False, restart=mode is LMCacheMode.MP)
    wanted = LocalRun(
        _PRESET,
        knobs,
        cache_root=cache_root,
        start_timeout_s=start_timeout_s,
        lmcache_mode=mode,
        known_bad=True,  # whatever is known of it: the answers decide
    )
    blank = not_tried(pair, mode, cache_root)
    try:
        result = run_local(wanted)
    except (LabError, MachineError) as error:
        verdict = PairVerdict.FAILS if tells_of_an_end(str(error)) else PairVerdict.NOT_TRIED
        return replace(blank, verdict=verdict, cause=cause_of(str(error)))
    verdict, cause = judge(result)
    measured = replace(
        blank,
        tokens=result.settings.document_tokens[0],
        ttft_s={step.step.value: round(step.ttft.median_s, 4) for step in result.summary.steps},
    )
    if verdict is not PairVerdict.WORKS:
        return replace(measured, verdict=verdict, cause=cause)
    try:
        survival = run_trials(wanted, FAULTS[mode])
    except (LabError, MachineError) as error:
        return replace(measured, verdict=PairVerdict.UNPROVEN, cause=cause_of(str(error)))
    verdict, cause = judge_faults(survival)
    faults = {outcome.scenario.value: outcome.found for outcome in survival.outcomes}
    return replace(measured, verdict=verdict, cause=cause, faults=faults)


def not_tried(pair: VersionPair, mode: LMCacheMode, cache_root: Path, cause: str = "") -> PairRun:
    """The record of a pair before anything is known of it, on this machine today."""
    host = describe(cache_root, None)
    return PairRun(
        vllm=pair.vllm,
        lmcache=pair.lmcache,
        mode=mode,
        verdict=PairVerdict.NOT_TRIED,
        cause=cause_of(cause),
        date=datetime.now(UTC).date().isoformat(),
        torch=engine_versions("cpu").torch,
        cpu=host.cpu,
        cores=host.cores,
        tokens=0,
        ttft_s={},
        faults={},
    )


def judge(result: Result) -> tuple[PairVerdict, str]:
    """The verdict on a run's steps, and its first cause."""
    if result.valid:
        return PairVerdict.WORKS, ""
    if wrong := wrong_answers(result.samples, result.partings):
        return PairVerdict.WRONG_ANSWERS, wrong[0]
    reuses = [sample for sample in result.samples if sample.step.is_reuse]
    if reuses and not any(sample.evidence.counters.external_hits for sample in reuses):
        return PairVerdict.NEVER_HITS, result.problems[0]
    ended = next((problem for problem in result.problems if tells_of_an_end(problem)), None)
    return (PairVerdict.FAILS, cause_of(ended)) if ended else (PairVerdict.UNPROVEN, cause_of(result.problems[0]))


def judge_faults(survival: Survival) -> tuple[PairVerdict, str]:
    """A client that leaves and a chunk that is lost must cost nothing but time. Swapped chunks are read by every
    version yet: they are told, not judged."""
    for outcome in survival.outcomes:
        if outcome.scenario is Scenario.CHUNKS_SWAPPED:
            continue
        if outcome.found.reply is Reply.WRONG:
            return PairVerdict.WRONG_ANSWERS, f"{outcome.scenario}: the answer is another"
        if outcome.found.reply is Reply.FAILED or not outcome.found.lives:
            return PairVerdict.FAILS, f"{outcome.scenario}: the request or the engine fails"
    ended = next((problem for problem in survival.problems if tells_of_an_end(problem)), None)
    if ended:
        return PairVerdict.FAILS, cause_of(ended)
    return (PairVerdict.UNPROVEN, cause_of(survival.problems[0])) if survival.problems else (PairVerdict.WORKS, "")


def cause_of(problem: str) -> str:
    """The first line that names what went wrong, out of a message that may quote a log."""
    said = [line.strip() for line in problem.splitlines() if not line.startswith("The whole log")]
    quoted = said[1:]
    telling = next((line for line in quoted if _EXCEPTION.search(line)), None)
    return portable(telling or next(iter(quoted or said), ""))[:300]
