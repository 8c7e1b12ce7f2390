"""What a run yields, whole or broken off, and the result file made of it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kvtiers.result.schema import SCHEMA, Host, Mode, Model, Parting, ProcessRun, Result, Sample, Settings, Versions
from kvtiers.result.summary import summarize
from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError
from lab.judge.answers import Difference, differences, wrong_answers
from lab.measure.scenarios import Experiment, Runner, Target, contradicted
from lab.measure.server import RequestError
from lab.paths import portable
from lab.waiting import tries
from progress import add_bar, bars

# A process that dies closes its connections first, and is gone a moment later.
_DEATH_S, _POLL_S = 2.0, 0.05


@dataclass
class Collected:
    """Samples so far, where their answers part, and what went wrong."""

    samples: list[Sample] = field(default_factory=list)
    partings: list[Parting] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def collect(experiment: Experiment, targets: Sequence[Target], collected: Collected, *, again: bool = False) -> None:
    """Run the experiment, or with ``again`` its part after a restart; a fault ends it, and what was measured until then
    stays."""
    with bars() as progress:
        bar = add_bar(progress, "requests", experiment.requests(targets, again))
        try:
            collected.samples.extend(Runner(experiment, targets, lambda what: bar.advance(1, what)).run(again))
            collected.partings += _partings(experiment, targets, collected)
        except LabError as error:
            collected.problems.append(portable(str(_cause(error, targets))))


def _partings(experiment: Experiment, targets: Sequence[Target], collected: Collected) -> Iterator[Parting]:
    """How far the candidates lie apart where an answer parts, asked when nothing more is timed on these targets."""
    prompts = {(document.name, repeat): document.token_ids for document, repeat in experiment.asked()}
    known = {(parting.arm, parting.step, parting.document, parting.repeat) for parting in collected.partings}
    for found in differences(collected.samples):
        other = found.other
        target = next((target for target in targets if target.arm is other.arm), None)
        if target and (other.arm, other.step, other.document, other.repeat) not in known:
            yield found.parting(_gap_nats(found, prompts[other.document, other.repeat], target))


def _gap_nats(found: Difference, prompt: Sequence[int], target: Target) -> float | None:
    if found.tokens is None:
        return None
    before = found.other.evidence.token_ids[: found.position]
    try:
        return target.client.gap_nats((*prompt, *before), *found.tokens)
    except RequestError as error:
        if error.status is None:
            raise
        return None  # it refuses logprobs


def _cause(error: LabError, targets: Sequence[Target]) -> LabError:
    """A dead process is the cause of whatever its client noticed first."""
    for is_last in tries(_DEATH_S if isinstance(error, RequestError) else 0.0, _POLL_S):
        try:
            for target in targets:
                target.check()
        except LabError as death:
            return death
        if is_last:
            break
    return error


def asked_for(experiment: Experiment) -> dict[str, Any]:
    """What an experiment knows of its Settings; the rest is its engine's."""
    return {
        "documents": tuple(document.name for document in experiment.documents),
        "document_tokens": tuple(len(document.token_ids) for document in experiment.documents),
        "flood_tokens": experiment.flood_tokens,
        **{name: getattr(experiment.knobs, name) for name in ("repeats", "max_tokens", "seed")},
    }


def assemble(
    collected: Collected,
    *,
    mode: Mode,
    lmcache_mode: LMCacheMode | None,
    versions: Versions,
    host: Host,
    model: Model,
    settings: Settings,
    processes: Sequence[ProcessRun] = (),
) -> Result:
    """The result: valid only when nothing broke and every sample is what its name says."""
    samples = collected.samples
    problems = (*collected.problems, *contradicted(samples), *wrong_answers(samples, collected.partings))
    return Result(
        schema=SCHEMA,
        valid=not problems,
        problems=problems,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode,
        lmcache_mode=lmcache_mode,
        versions=versions,
        machine=host,
        model=model,
        settings=settings,
        processes=tuple(processes),
        samples=tuple(samples),
        summaries=tuple(summarize(samples, document) for document in settings.documents),
        partings=tuple(collected.partings),
    )


def check_writable(path: Path) -> None:
    """Fail before measuring for minutes, not after.

    Raises:
        LabError: when the result could not be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make {path.parent}: {error.strerror}") from error
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise LabError(f"cannot write {path}: name another file with --output")


def write(text: str, path: Path) -> None:
    """A result file, whole or not at all.

    Raises:
        LabError: when the drive says no.
    """
    beside = path.with_name(path.name + ".writing")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise LabError(f"cannot write {path}: {error.strerror}") from error
