"""What a run yields, whole or broken off, and the result file made of it."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import kvtiers
from kvtiers.result.schema import SCHEMA, EngineRun, Machine, Mode, Model, Result, Sample, Settings, Versions, dump
from kvtiers.result.summary import summarize
from lab.errors import LabError
from lab.measure.scenarios import Experiment, Runner, Server, contradicted, unequal_answers
from lab.paths import portable
from progress import add_bar, bars


@dataclass
class Outcome:
    """Samples so far, and what went wrong."""

    samples: list[Sample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Drive:
    """A measured read bandwidth (decimal GB/s) and how it was measured."""

    gb_per_s: float
    source: str


def collect(experiment: Experiment, servers: Sequence[Server], outcome: Outcome) -> None:
    """Run the experiment; a fault ends it, and what was measured until then stays."""
    with bars() as progress:
        bar = add_bar(progress, "requests", experiment.requests(servers))

        def on_request(what: str) -> None:
            bar.note(what)
            bar.advance()

        try:
            outcome.samples.extend(Runner(experiment, servers, on_request).run())
        except LabError as error:
            outcome.problems.append(portable(str(_cause(error, servers))))


def _cause(error: LabError, servers: Sequence[Server]) -> LabError:
    """A dead engine is the cause of whatever its client noticed first."""
    try:
        for server in servers:
            server.check()
    except LabError as death:
        return death
    return error


def assemble(
    outcome: Outcome,
    *,
    mode: Mode,
    versions: Versions,
    machine: Machine,
    model: Model,
    settings: Settings,
    engines: Sequence[EngineRun],
    drive: Drive | None,
) -> Result:
    """The result: valid only when nothing broke and every sample is what its name says."""
    samples = outcome.samples
    problems = (*outcome.problems, *contradicted(samples), *unequal_answers(samples))
    return Result(
        schema=SCHEMA,
        valid=not problems,
        problems=problems,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode,
        versions=versions,
        machine=machine,
        model=model,
        settings=settings,
        engines=tuple(engines),
        samples=tuple(samples),
        summary=summarize(
            samples, model.kv_bytes_per_token, drive.gb_per_s if drive else None, drive.source if drive else ""
        ),
    )


def versions(vllm: str = "", lmcache: str = "", torch: str = "", python: str = "") -> Versions:
    """The engine's versions beside this project's own."""
    return Versions(vllm, lmcache, torch, python or platform.python_version(), kvtiers.__version__)


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


def write(result: Result, path: Path) -> None:
    """Whole or not at all.

    Raises:
        LabError: when the drive says no.
    """
    beside = path.with_name(path.name + ".writing")
    try:
        beside.write_text(dump(result), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise LabError(f"cannot write {path}: {error.strerror}") from error
