"""All scenarios of a table, one after the other, to a result file."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime

from kvtiers.result.survival import SCHEMA, Outcome, Reason, Survival
from lab.engines.install import engine_versions
from lab.errors import LabError
from lab.launches import LocalRun, engines_at_once, pool_of, staged
from lab.machine import describe
from lab.paths import portable
from lab.trials.alone import AloneStage
from lab.trials.case import CannotTryError, Scenarios, run
from lab.trials.stage import PORTS, Stage
from progress import add_bar, bars


def run_trials(wanted: LocalRun, scenarios: Scenarios) -> Survival:
    """Run every scenario. One that breaks off is a problem of the run; the next begins anew.

    Raises:
        LabError: when it could not even begin.
    """
    installed = engine_versions(wanted.preset.engine)
    outcomes, problems, not_tried = list[Outcome](), list[str](), dict[str, Reason]()
    with stage_for(wanted) as stage, bars() as progress:
        bar = add_bar(progress, "scenarios", len(scenarios))
        for scenario, trial in scenarios.items():
            bar.note(scenario)
            try:
                outcomes.append(run(stage, scenario, trial))
            except CannotTryError as error:
                not_tried[scenario] = error.reason
            except LabError as error:
                problems.append(portable(f"{scenario}: {error}"))
                stage.stop()
            bar.advance()
    return Survival(
        schema=SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=installed,
        machine=describe(wanted.cache_root, wanted.card),
        model=wanted.preset.name,
        chunk_tokens=wanted.knobs.chunk_tokens,
        outcomes=tuple(outcomes),
        problems=tuple(problems),
        not_tried=not_tried,
    )


@contextlib.contextmanager
def stage_for(wanted: LocalRun) -> Iterator[Stage]:
    """A stage on a directory of its own; all of it is gone afterwards.

    Raises:
        MachineError, LabError: when it can't even begin.
    """
    pool = pool_of(wanted)
    with staged(wanted, pool, PORTS) as place:
        engines_at_once(wanted, pool, place.storage)
        stage = (Stage if wanted.is_mp else AloneStage)(wanted, place)
        try:
            yield stage
        finally:
            stage.stop()
