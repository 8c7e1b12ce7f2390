"""``lab survive`` and ``lab stress``."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.result.schema import dump
from kvtiers.result.survival import Survival, table
from lab.cli_options import CacheDirectory, Engine, PresetName, StartTimeout
from lab.engines.admission import admit, planned
from lab.engines.install import set_up
from lab.engines.models import bring
from lab.engines.presets import choose_preset
from lab.errors import LabError
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, DEFAULT_START_TIMEOUT_S, LocalRun
from lab.paths import RESULTS
from lab.report import outcome
from lab.trials.case import Scenarios
from lab.trials.run import run_trials
from lab.trials.stage import ENGINES
from lab.trials.stress import STRESS
from lab.trials.survive import SURVIVE
from machine.gpu import Choice
from progress import say

Output = Annotated[Path, typer.Option(help="The result file.")]
Only = Annotated[list[str] | None, typer.Option(help="Only this scenario; may be repeated.")]


def _command(name: str, scenarios: Scenarios, what: str) -> Callable[..., None]:
    """A table of scenarios as a command; ``what``: its help."""

    def command(
        engine: Engine = "auto",
        preset: PresetName = None,
        cache_dir: CacheDirectory = DEFAULT_CACHE_ROOT,
        start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
        only: Only = None,
        output: Output = RESULTS / f"{name}.json",
    ) -> None:
        _try_all(_some(scenarios, only), engine, preset, cache_dir, start_timeout, output)

    command.__name__, command.__doc__ = name, what
    return command


survive = _command(
    "survive",
    SURVIVE,
    "What is found again after restarts, by another engine, with a token changed, with files lost or swapped?",
)
stress = _command(
    "stress",
    STRESS,
    "Faults on purpose: processes killed, drives that refuse, clients that go away, settings changed under a cache.",
)


def _some(scenarios: Scenarios, only: Sequence[str] | None) -> Scenarios:
    if unknown := set(only or ()) - set(scenarios):
        raise LabError(f"no scenario {unknown.pop()!r}; there are {', '.join(scenarios)}")
    return {scenario: trial for scenario, trial in scenarios.items() if not only or scenario in only}


def _try_all(
    scenarios: Scenarios, engine: str, preset: str | None, cache_dir: Path, start_timeout: float, output: Path
) -> None:
    outcome.check_writable(output)

    def run_on(choice: Choice) -> LocalRun:
        brought = choose_preset(preset, None, choice.engine)
        return LocalRun(
            brought, Knobs(control=False), (), cache_dir, None, start_timeout, card=choice.card, least_engines=ENGINES
        )

    run = planned(engine, preset, run_on)
    admit(run, will_start=True)
    set_up(run.preset.engine)
    bring(run.preset)
    survival = run_trials(run, scenarios)
    outcome.write(dump(survival), output)
    show(survival, Console(highlight=False))
    say(f"written: {output}")
    if not survival.met:
        raise typer.Exit(1)


def show(survival: Survival, console: Console) -> None:
    """Its table, and what went wrong."""
    head, *rows = table(survival, "en")
    printed = Table(*head, box=box.SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
    for row in rows:
        printed.add_row(*row)
    console.print(printed)
    for problem in survival.problems:
        console.print(f"[bold red]- {problem}", soft_wrap=True)
