"""What several commands share: options, what is refused of them, how a command fails."""

import re
import shlex
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError

# What can be asked of a server that is measured as it is.
_WITH_URL = {"url", "server", "log", "document", "output", "document_tokens", "chunk_tokens", "repeats", "max_tokens"}
_WITH_URL |= {"seed"}
# Options of vLLM's that say where the engine answers, or change the KV, the pool or the connector that is measured.
_OURS = (
    *("--host", "--port", "--uds", "--api-key", "--config", "--model", "--served-model-name", "--revision", "--dtype"),
    *("--block-size", "--num-gpu-blocks-override", "--kv-cache-dtype", "--kv-transfer-config"),
    *("--kv-offloading-size", "--kv-offloading-backend"),
    *("--tensor-parallel-size", "-tp", "--pipeline-parallel-size", "-pp", "--data-parallel-size", "-dp"),
)


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
    typer.Option(min=1024, max=65535, help="First of the run's ports on 127.0.0.1. [default: free ones]"),
]
StartTimeout = Annotated[float, typer.Option(help="Seconds an engine may take to start.")]
Server = Annotated[
    str | None,
    typer.Option(help="HTTP address of its LMCache server, whose RAM is then emptied between steps."),
]
Log = Annotated[Path | None, typer.Option(help="LMCache's log: that server's, or with LMCache inside it the engine's.")]
CacheDirectory = Annotated[Path, typer.Option("--cache-dir", help="On the drive under test.")]


def vllm_words(arguments: Sequence[str]) -> tuple[str, ...]:
    """Options as typed, ``--max-num-seqs 4`` or ``--max-num-seqs=4``, but none that the lab itself sets. vLLM also
    takes a part of a name, and ``--name.key`` for a key of its JSON.

    Raises:
        LabError: naming it.
    """
    try:
        words = tuple(word for argument in arguments for word in shlex.split(argument))
    except ValueError as error:
        raise LabError(f"--engine-arg {' '.join(arguments)}: {error}") from None
    for word in words:
        name = re.split(r"[=.]", word.replace("_", "-"))[0]
        if name in _OURS or (len(name) > len("--") and any(our.startswith(name) for our in _OURS if our[1] == "-")):
            raise LabError(f"--engine-arg {word}: that is the lab's own to set, or it could not tell what it measures")
    return words


def refuse_beside_url(context: typer.Context, heard: Set[str] = _WITH_URL) -> None:
    """What a server that is measured as it is would leave unheard is not taken.

    Raises:
        LabError: naming it.
    """
    others = {str(option.name) for option in context.command.params} - heard
    if given := typed(context, others):
        raise LabError(f"--url measures a server as it is: {', '.join(given)} can't be had with it")


def typed(context: typer.Context, names: Set[str]) -> list[str]:
    """Those of a command's options that stand in the command line, as they are spelt there."""
    found = [option for option in context.command.params if option.name in names and _is_typed(context, option.name)]
    spelt = [option.secondary_opts if context.params[str(option.name)] is False else option.opts for option in found]
    return [max(spellings, key=len) for spellings in spelt]


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def fail(message: str, code: int) -> NoReturn:
    """Say so on standard error, and end."""
    Console(stderr=True, highlight=False).print(f"error: {message}", markup=False, soft_wrap=True)
    raise SystemExit(code)
