"""What a person sees of ``lab survive`` and ``lab stress``."""

from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.result.survival import Survival, table


def show(survival: Survival, console: Console) -> None:
    """Print each scenario's expectation beside what was found."""
    head, *rows = table(survival, "en")
    printed = Table(*head, box=box.SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
    for row in rows:
        printed.add_row(*row)
    for column in printed.columns:
        column.no_wrap = True
    console.print(printed)
    for problem in survival.problems:
        console.print(f"[bold red]- {problem}", soft_wrap=True)
