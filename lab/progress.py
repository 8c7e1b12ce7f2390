"""Progress bars for every long step; plain lines where the output is not a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

console = Console(stderr=True, highlight=False)


class Bar:
    """One step of known length. ``advance`` moves it, ``note`` says what is being done now."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def advance(self, steps: int = 1) -> None:
        """Move on."""
        self._progress.advance(self._task, steps)

    def reach(self, done: int) -> None:
        """Stand at ``done`` steps."""
        self._progress.update(self._task, completed=done)

    def note(self, text: str) -> None:
        """Say what is being done."""
        self._progress.update(self._task, note=text)


@contextmanager
def bars() -> Iterator[Progress]:
    """Several bars at once, drawn on standard error and gone when done."""
    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=28),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield progress


def add_bar(progress: Progress, description: str, total: int) -> Bar:
    """A bar of ``total`` steps."""
    return Bar(progress, progress.add_task(description, total=total, note=""))


def say(text: str) -> None:
    """One line on standard error."""
    console.print(text)
