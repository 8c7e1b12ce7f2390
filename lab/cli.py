"""The command line: run, survive, setup, gpu, show, models, check."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from kvtiers.errors import KvtiersError
from kvtiers.result import schema
from kvtiers.result.schema import Result, read_result
from kvtiers.result.survival import SCHEMA as SURVIVAL
from kvtiers.result.survival import read_survival
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.units import format_bytes
from lab.cli_options import (
    Engine,
    EngineArguments,
    KnownBad,
    Log,
    ModelName,
    Port,
    PresetName,
    Server,
    StartTimeout,
    Wiring,
    refuse_beside_url,
    vllm_words,
)
from lab.engines.admission import admit, chosen, fitting
from lab.engines.install import set_up
from lab.engines.models import bring
from lab.engines.presets import PRESETS, choose_preset
from lab.errors import LabError
from lab.judge.check import DEFAULT_CEILING_TOKENS, DEFAULT_DOCUMENT_TOKENS, Check, run_check
from lab.judge.points import State
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, DEFAULT_START_TIMEOUT_S, LocalRun, dry_run
from lab.local_run import run_local
from lab.options import options_from
from lab.paths import LATEST, RESULTS
from lab.readiness import readiness
from lab.report import outcome
from lab.report.show import save_chart, show
from lab.survive.report import show as show_survival
from lab.survive.run import run_survive
from lab.url_run import run_url
from machine import MachineError
from machine.gpu import Choice
from progress import say

INTERRUPTED = 130
_STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Interrupted(BaseException):
    """Not KeyboardInterrupt, which the command-line library turns into a bare exit code."""


app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
_out = Console(highlight=False)


@app.command()
@options_from(Knobs, "knobs")
def run(
    context: typer.Context,
    knobs: Knobs,
    engine: Engine = "auto",
    preset: PresetName = None,
    model: ModelName = None,
    document: Annotated[list[Path] | None, typer.Option(help="A text file to use instead; may be repeated.")] = None,
    wiring: Wiring = LMCacheMode.MP,
    known_bad: KnownBad = False,
    engine_arg: EngineArguments = None,
    cache_dir: Annotated[Path, typer.Option(help="On the drive under test.")] = DEFAULT_CACHE_ROOT,
    port: Port = None,
    start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    url: Annotated[str | None, typer.Option(help="Measure a server that is already running.")] = None,
    server: Server = None,
    log: Log = None,
    output: Annotated[Path, typer.Option(help="The result file; a PNG chart is written beside it.")] = LATEST,
    dry_run_only: Annotated[bool, typer.Option("--dry-run", help="Print the commands and start nothing.")] = False,
) -> None:
    """Run the experiment and write the result file."""
    documents = tuple(document or ())
    if url is not None:
        refuse_beside_url(context)
        outcome.check_writable(output)
        _report(run_url(url, knobs, server, log, documents), output)
        return
    if log is not None or server is not None:
        raise LabError("--server and --log go with --url; the lab starts its own server and reads its own logs")
    if knobs.restart and wiring is LMCacheMode.IN_PROCESS:
        raise LabError("--restart needs --wiring mp: LMCache inside the engine finds no file again after a restart")
    words = vllm_words(engine_arg or ())

    def run_on(choice: Choice) -> LocalRun:
        brought = choose_preset(preset, model, choice.engine)
        places = (documents, cache_dir, port, start_timeout)
        return LocalRun(brought, knobs, *places, wiring, known_bad, choice.card, words)

    local = _planned(engine, preset, run_on, must_run=not dry_run_only)
    admit(local, will_start=not dry_run_only)
    if dry_run_only:
        for launch in dry_run(local):
            _out.print(f"# {launch.name}\n{launch.shell()}\n", markup=False, soft_wrap=True)
        return
    outcome.check_writable(output)
    set_up(local.preset.engine)
    _report(run_local(local), output)


@app.command()
def survive(
    engine: Engine = "auto",
    preset: PresetName = None,
    cache_dir: Annotated[Path, typer.Option(help="On the drive under test.")] = DEFAULT_CACHE_ROOT,
    start_timeout: StartTimeout = DEFAULT_START_TIMEOUT_S,
    output: Annotated[Path, typer.Option(help="The result file.")] = RESULTS / "survive.json",
) -> None:
    """What is found again after restarts, by another engine, with a token changed, with files lost or swapped?"""
    outcome.check_writable(output)

    def run_on(choice: Choice) -> LocalRun:
        brought = choose_preset(preset, None, choice.engine)
        return LocalRun(brought, Knobs(control=False), (), cache_dir, None, start_timeout, card=choice.card)

    wanted = _planned(engine, preset, run_on)
    admit(wanted, will_start=True)
    set_up(wanted.preset.engine)
    bring(wanted.preset)
    survival = run_survive(wanted)
    outcome.write(schema.dump(survival), output)
    show_survival(survival, _out)
    say(f"written: {output}")
    if not survival.met:
        raise typer.Exit(1)


@app.command()
def setup(engine: Engine = "auto", preset: PresetName = None, model: ModelName = None) -> None:
    """Install the engine into its own environment and bring the model. Running it again resumes or does nothing."""
    wanted = choose_preset(preset, model, chosen(engine).engine)
    set_up(wanted.engine)
    bring(wanted)
    say(f"the {wanted.engine} engine and {wanted.name} are ready")


@app.command()
def gpu() -> None:
    """What would a run use on this machine, GPU or none? Installs nothing; exits 1 where something is missing."""
    lines = readiness()
    for line in lines:
        _out.print(f"{'!' if line.bad else ' '} {line.what:<10}{line.said}", markup=False, soft_wrap=True)
    if any(line.bad for line in lines):
        raise typer.Exit(1)


@app.command("show")
def show_result(file: Annotated[Path, typer.Argument(help="A result file.")] = LATEST) -> None:
    """Print a result file's table and what it says."""
    try:
        content = file.read_text(encoding="utf-8")
        if f'"{SURVIVAL}"' in content:
            show_survival(read_survival(content), _out)
            return
        result = read_result(content)
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"cannot read {file}: {error}") from error
    except KvtiersError as error:
        raise LabError(f"{file}: {error}") from error
    show(result, _out)


@app.command()
def models() -> None:
    """List the presets."""
    table = Table("preset", "engine", "model", "KV a token", "what it is")
    for preset in PRESETS.values():
        size = format_bytes(preset.kv_bytes_per_token or 0)
        table.add_row(preset.name, preset.engine, Path(preset.model).name, size, preset.about)
    _out.print(table)


@app.command()
def check(
    url: Annotated[str, typer.Argument(help="A running OpenAI-compatible vLLM server.")],
    server: Annotated[str | None, typer.Option(help="The HTTP address of its LMCache server, in MP mode.")] = None,
    log: Annotated[Path | None, typer.Option(help="Its log, for the reasons.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="The variable that holds its API key.")] = None,
    document_tokens: Annotated[int, typer.Option(min=300, help="Length of the prompts.")] = DEFAULT_DOCUMENT_TOKENS,
    ceiling_tokens: Annotated[int, typer.Option(help="Prompt tokens to send at most.")] = DEFAULT_CEILING_TOKENS,
    evict: Annotated[bool, typer.Option(help="Push prompts out of the GPU's pool, other people's too.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Does a running server's tier work? Exits 1 when a checkpoint fails, 2 when the server cannot be asked."""
    key = os.environ.get(api_key_env) if api_key_env else None
    if api_key_env and not key:
        _fail(f"the variable {api_key_env} is not set", 2)
    try:
        points = run_check(Check(url, log, key, document_tokens, ceiling_tokens, evict, server))
    except LabError as error:
        _fail(str(error), 2)
    if as_json:
        _out.print_json(json.dumps([asdict(point) for point in points]))
    else:
        for point in points:
            _out.print(f"{point.state:<8}{point.name:<15}{point.what}", markup=False, soft_wrap=True)
    if any(point.state is State.FAILED for point in points):
        raise typer.Exit(1)


def main() -> None:
    """Entry point: every fault the user can put right is one message, never a traceback."""
    for number in _STOPPING_SIGNALS:
        signal.signal(number, _interrupt)
    try:
        app(standalone_mode=True)
    except (LabError, KvtiersError, MachineError) as error:
        _fail(str(error), 1)
    except _Interrupted:
        _fail("interrupted: the engines are stopped, no result was written", INTERRUPTED)


def _report(result: Result, output: Path) -> None:
    """Result file, chart and table of a run; exit code 1 where it proves nothing."""
    outcome.write(schema.dump(result), output)
    save_chart(result, output.with_suffix(".png"))
    show(result, _out)
    say(f"written: {output} and {output.with_suffix('.png').name}")
    if not result.valid:
        raise typer.Exit(1)


def _planned(
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


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    for other in _STOPPING_SIGNALS:  # stopping has begun; an impatient second Ctrl-C must not break it off
        signal.signal(other, signal.SIG_IGN)
    raise _Interrupted


def _fail(message: str, code: int) -> NoReturn:
    Console(stderr=True, highlight=False).print(f"error: {message}", markup=False, soft_wrap=True)
    raise SystemExit(code)
