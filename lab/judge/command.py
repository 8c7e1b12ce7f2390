"""``lab check``, and its needle."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lab.cli_options import fail
from lab.errors import LabError
from lab.judge.asker import DEFAULT_CEILING_TOKENS, DEFAULT_DOCUMENT_TOKENS, Check
from lab.judge.check import run_check
from lab.judge.needle import DEFAULT_MINUTES, DEFAULT_PROMPTS, NeedleResult, run_needle
from lab.judge.points import Point, State

NOT_PROVEN = 3
KeyVariable = Annotated[str | None, typer.Option("--api-key-env", help="The variable that holds its API key.")]
DocumentTokens = Annotated[int, typer.Option(min=300, help="Length of the prompts.")]
CeilingTokens = Annotated[int, typer.Option(help="Prompt tokens to send at most.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check(
    url: Annotated[str, typer.Argument(help="A running OpenAI-compatible vLLM server.")],
    server: Annotated[str | None, typer.Option(help="The HTTP address of its LMCache server, in MP mode.")] = None,
    log: Annotated[Path | None, typer.Option(help="Its log, for the reasons.")] = None,
    api_key_env: KeyVariable = None,
    document_tokens: DocumentTokens = DEFAULT_DOCUMENT_TOKENS,
    ceiling_tokens: CeilingTokens = DEFAULT_CEILING_TOKENS,
    evict: Annotated[bool, typer.Option(help="Push prompts out of the GPU's pool, other people's too.")] = True,
    as_json: AsJson = False,
    needle: Annotated[
        bool, typer.Option("--needle", help="Only: is what comes back right? Exits 3 if unproven.")
    ] = False,
    prompts: Annotated[int, typer.Option(min=1, help="Of the needle.")] = DEFAULT_PROMPTS,
    minutes: Annotated[float, typer.Option(min=0, help="The needle takes about so long at most.")] = DEFAULT_MINUTES,
    empty_ram: Annotated[
        bool, typer.Option("--empty-ram", help="Needle: LMCache's RAM is emptied; needs --server.")
    ] = False,
) -> None:
    """Does a running server's tier work? Exits 1 when a checkpoint fails, 2 when the server cannot be asked."""
    wanted = Check(url, log, api_key(api_key_env), document_tokens, ceiling_tokens, evict, server)
    try:
        if needle:
            _tell_needle(run_needle(wanted, prompts, minutes, empty_ram=empty_ram), as_json)
        else:
            tell_points(run_check(wanted), as_json)
    except LabError as error:
        fail(str(error), 2)


def api_key(variable: str | None) -> str | None:
    """What that variable holds; ends the command where it is not set."""
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        fail(f"the variable {variable} is not set", 2)
    return key


def tell_points(points: list[Point], as_json: bool) -> None:
    """Print them; exit code 1 where one failed."""
    out = Console(highlight=False)
    if as_json:
        out.print_json(json.dumps([asdict(point) for point in points]))
    else:
        for point in points:
            out.print(f"{point.state:<8}{point.name:<15}{point.what}", markup=False, soft_wrap=True)
    if any(point.state is State.FAILED for point in points):
        raise typer.Exit(1)


def _tell_needle(verdict: NeedleResult, as_json: bool) -> None:
    out = Console(highlight=False)
    if as_json:
        out.print_json(json.dumps(asdict(verdict)))
    else:
        out.print(f"{verdict.state:<8}{verdict.what}", markup=False, soft_wrap=True)
    if verdict.state is not State.OK:
        raise typer.Exit(1 if verdict.state is State.FAILED else NOT_PROVEN)
