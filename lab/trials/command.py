"""``lab survive`` and ``lab stress``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.result.schema import dump
from kvtiers.result.survival import Survival, table
from lab.cli_options import CacheDirectory, Engine, PresetName, StartTimeout, fail, refuse_beside_url, typed
from lab.engines.admission import admit, planned
from lab.engines.install import set_up
from lab.engines.models import bring
from lab.engines.presets import choose_preset
from lab.errors import LabError
from lab.judge.asker import DEFAULT_CEILING_TOKENS, DEFAULT_DOCUMENT_TOKENS, Check
from lab.judge.command import NOT_PROVEN, AsJson, CeilingTokens, DocumentTokens, KeyVariable, api_key, tell_points
from lab.judge.two_engines import DEFAULT_WAIT_S, proven, run_pair
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
_OF_RUNNING = {"url", "wait", "api_key_env", "document_tokens", "ceiling_tokens", "as_json"}
Only = Annotated[list[str] | None, typer.Option(help="Only this scenario; may be repeated.")]


def survive(
    context: typer.Context,
    engine: Engine = "auto",
    preset: PresetName = None,
    cache_dir: CacheDirectory = DEFAULT_CACHE_ROOT,
    start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    only: Only = None,
    output: Output = RESULTS / "survive.json",
    url: Annotated[
        list[str] | None,
        typer.Option(help="Twice: two running vLLM servers instead. Does one find what the other did?"),
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="With --url: seconds until the other is asked.")] = DEFAULT_WAIT_S,
    api_key_env: KeyVariable = None,
    document_tokens: DocumentTokens = DEFAULT_DOCUMENT_TOKENS,
    ceiling_tokens: CeilingTokens = DEFAULT_CEILING_TOKENS,
    as_json: AsJson = False,
) -> None:
    """What is found again after restarts, by another engine, with a token changed, with files lost or swapped? With
    --url: what two running engines find of each other's; exits 1 if not all of it, 2 if they can't be asked, 3 if that
    can't be told."""
    if url:
        refuse_beside_url(context, _OF_RUNNING)
        key = api_key(api_key_env)
        _tell_pair([Check(each, None, key, document_tokens, ceiling_tokens) for each in url], wait, as_json)
        return
    if unheard := typed(context, _OF_RUNNING):
        raise LabError(f"{', '.join(unheard)} can't be had without --url")
    _try_all(_some(SURVIVE, only), engine, preset, cache_dir, start_timeout, output)


def stress(
    engine: Engine = "auto",
    preset: PresetName = None,
    cache_dir: CacheDirectory = DEFAULT_CACHE_ROOT,
    start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    only: Only = None,
    output: Output = RESULTS / "stress.json",
) -> None:
    """Faults on purpose: processes killed, drives that refuse, clients that go away, settings changed under a cache."""
    _try_all(_some(STRESS, only), engine, preset, cache_dir, start_timeout, output)


def _tell_pair(wanted: Sequence[Check], wait_s: float, as_json: bool) -> None:
    try:
        points = run_pair(wanted, wait_s)
    except LabError as error:
        fail(str(error), 2)
    tell_points(points, as_json)
    if not proven(points):
        raise typer.Exit(NOT_PROVEN)


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
