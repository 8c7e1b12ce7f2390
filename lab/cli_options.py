"""What several commands share: options, the engine that is chosen, how a command fails."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError
from machine import MachineError
from machine.commands import ENGINES
from machine.gpu import Choice, choose
from progress import say


def _wiring(name: str) -> LMCacheMode:
    try:
        return LMCacheMode(name.replace("-", "_"))
    except ValueError:
        raise typer.BadParameter(f"must be mp or in-process, got {name!r}") from None


Engine = Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda where an NVIDIA GPU answers.")]
PresetName = Annotated[str | None, typer.Option("--preset", help="A name from `models`.")]
ModelName = Annotated[str | None, typer.Option("--model", help="A model directory or Hugging Face id instead.")]
Wiring = Annotated[
    LMCacheMode,
    typer.Option(
        parser=_wiring,
        metavar="mp|in-process",
        help="LMCache as a server beside the engine, or inside it, as older guides do.",
    ),
]
KnownBad = Annotated[
    bool, typer.Option("--known-bad", help="Run versions that are known to return wrong KV: the answers decide.")
]
EngineArguments = Annotated[
    list[str] | None,
    typer.Option("--engine-arg", help="An option of vLLM's for both arms, as in --engine-arg=--max-num-seqs=4."),
]
Port = Annotated[
    int | None,
    typer.Option(min=1024, max=65534, help="First of the run's ports on 127.0.0.1. [default: free ones]"),
]
StartTimeout = Annotated[float, typer.Option(help="Seconds an engine may take to start.")]
Server = Annotated[
    str | None,
    typer.Option(help="HTTP address of its LMCache server, whose RAM is then emptied between steps."),
]
Log = Annotated[Path | None, typer.Option(help="LMCache's log: that server's, or with LMCache inside it the engine's.")]
CacheDirectory = Annotated[Path, typer.Option("--cache-dir", help="On the drive under test.")]


def chosen(engine: str, *, must_run: bool = True) -> Choice:
    """The engine with its card. A dry run also prints what another machine would start.

    Raises:
        LabError, MachineError: there is no such engine, or it can't run here.
    """
    if engine not in ENGINES:
        raise LabError(f"--engine must be cpu, cuda or auto, got {engine!r}")
    try:
        choice = choose(engine)
    except MachineError as reason:
        if must_run:
            raise
        choice = Choice(engine, why=str(reason))
    if choice.why:
        say(f"no GPU can be used: {choice.why}")
    return choice


def fail(message: str, code: int) -> NoReturn:
    """Say so on standard error, and end."""
    Console(stderr=True, highlight=False).print(f"error: {message}", markup=False, soft_wrap=True)
    raise SystemExit(code)
