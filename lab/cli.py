"""The command line: run, survive, stress, pairs, setup, gpu, show, models, check."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from kvtiers.errors import KvtiersError
from kvtiers.result import schema
from kvtiers.result.pairs import SCHEMA as PAIRS
from kvtiers.result.pairs import read_pairs
from kvtiers.result.schema import Result, read_result
from kvtiers.result.survival import SCHEMA as SURVIVAL
from kvtiers.result.survival import read_survival
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.units import format_bytes
from lab.cli_options import (
    CacheDirectory,
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
    fail,
    refuse_beside_url,
    vllm_words,
)
from lab.engines.admission import admit, chosen, planned
from lab.engines.install import set_up
from lab.engines.models import bring
from lab.engines.presets import PRESETS, choose_preset
from lab.errors import LabError
from lab.judge.command import check
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, DEFAULT_START_TIMEOUT_S, LocalRun, dry_run
from lab.local_run import run_local
from lab.options import options_from
from lab.pairs.command import pairs
from lab.pairs.command import show as show_pairs
from lab.paths import LATEST
from lab.readiness import readiness
from lab.report import outcome
from lab.report.show import save_chart, show
from lab.trials.command import show as show_trials
from lab.trials.command import stress, survive
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
    cache_dir: CacheDirectory = DEFAULT_CACHE_ROOT,
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

    local = planned(engine, preset, run_on, must_run=not dry_run_only)
    admit(local, will_start=not dry_run_only)
    if dry_run_only:
        for launch in dry_run(local):
            _out.print(f"# {launch.name}\n{launch.shell()}\n", markup=False, soft_wrap=True)
        return
    outcome.check_writable(output)
    set_up(local.preset.engine)
    _report(run_local(local), output)


app.command()(survive)
app.command()(stress)
app.command()(pairs)


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
            show_trials(read_survival(content), _out)
            return
        if f'"{PAIRS}"' in content:
            show_pairs(read_pairs(content), _out)
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


app.command()(check)


def main() -> None:
    """Entry point: every fault the user can put right is one message, never a traceback."""
    for number in _STOPPING_SIGNALS:
        signal.signal(number, _interrupt)
    try:
        app(standalone_mode=True)
    except (LabError, KvtiersError, MachineError) as error:
        fail(str(error), 1)
    except _Interrupted:
        fail("interrupted: the engines are stopped, no result was written", INTERRUPTED)


def _report(result: Result, output: Path) -> None:
    """Result file, chart and table of a run; exit code 1 where it proves nothing."""
    outcome.write(schema.dump(result), output)
    save_chart(result, output.with_suffix(".png"))
    show(result, _out)
    say(f"written: {output} and {output.with_suffix('.png').name}")
    if not result.valid:
        raise typer.Exit(1)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    for other in _STOPPING_SIGNALS:  # stopping has begun; an impatient second Ctrl-C must not break it off
        signal.signal(other, signal.SIG_IGN)
    raise _Interrupted
