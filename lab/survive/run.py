"""All scenarios, one after the other, to a result file."""

from datetime import UTC, datetime

from kvtiers.result.survival import SCHEMA, Outcome, Survival
from lab.engines.install import engine_versions
from lab.errors import LabError
from lab.launches import LocalRun
from lab.machine import describe
from lab.paths import portable
from lab.survive.scenarios import HAPPENS, run
from lab.survive.stage import staged
from progress import add_bar, bars


def run_survive(wanted: LocalRun) -> Survival:
    """Run every scenario; a fault ends it, and what was measured until then stays.

    Raises:
        LabError: when it could not even begin.
    """
    installed = engine_versions(wanted.preset.engine)
    outcomes, problems = list[Outcome](), list[str]()
    with staged(wanted) as stage, bars() as progress:
        bar = add_bar(progress, "scenarios", len(HAPPENS))
        try:
            stage.first.start()
            for scenario in HAPPENS:
                bar.note(scenario)
                outcomes.append(run(stage, scenario))
                bar.advance()
        except LabError as error:
            problems.append(portable(f"{scenario}: {error}" if outcomes else str(error)))
    return Survival(
        schema=SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=installed,
        machine=describe(wanted.cache_root, wanted.card),
        model=wanted.preset.name,
        chunk_tokens=wanted.knobs.chunk_tokens,
        outcomes=tuple(outcomes),
        problems=tuple(problems),
    )
