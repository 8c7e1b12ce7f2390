"""What a person sees of ``lab survive``, and the committed run as a table for docs and lessons."""

from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.result.survival import Outcome, Survival
from kvtiers.units import format_seconds
from kvtiers.words import text

COLUMNS = ("scenario", "expected", "came_back", "answer", "cold", "again", "met")
_ANSWERS = {True: "same", False: "wrong", None: "changed"}


def show(survival: Survival, console: Console) -> None:
    """Print each scenario's expectation beside what happened."""
    head, *rows = table(survival, "en")
    printed = Table(*head, box=box.SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
    for row in rows:
        printed.add_row(*row)
    for column in printed.columns:
        column.no_wrap = True
    console.print(printed)
    for problem in survival.problems:
        console.print(f"[bold red]- {problem}", soft_wrap=True)


def table(survival: Survival, language: str) -> list[list[str]]:
    """Head and rows."""
    head = [_say(f"column.{name}", language) for name in COLUMNS]
    return [head, *(_row(outcome, language) for outcome in survival.outcomes)]


def _row(outcome: Outcome, language: str) -> list[str]:
    tiers = "+".join(tier for tier, tokens in (("L1", outcome.l1_tokens), ("L2", outcome.l2_tokens)) if tokens)
    return [
        _say(f"scenario.{outcome.scenario}", language),
        f"{outcome.expected_tokens:,}",
        f"{outcome.loaded_tokens:,} {tiers}".rstrip(),
        _say(
            f"answer.{'changed' if outcome.same_answer is None else 'same' if outcome.same_answer else 'wrong'}",
            language,
        ),
        format_seconds(outcome.cold_s),
        format_seconds(outcome.again_s),
        _say("met.yes" if outcome.met else "met.no", language),
    ]


def _say(key: str, language: str) -> str:
    return text(f"survive.{key}", language, {})
