"""Progress of every long step: bars on a terminal, counted lines while it works anywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PARTS = 8
"""A step says so many times how far it is where no bar can be drawn."""

console = Console(stderr=True, highlight=False)


class Bar:
    """One step of known length, moved from any thread. ``note`` says what is being done now."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._lock = RLock()
        self._said = -1
        self._is_removed = False
        self._say_part()

    def advance(self, steps: int = 1, note: str | None = None) -> None:
        """By so many steps. A thread that comes late, when the bar is removed, moves nothing."""
        with self._lock:
            if self._is_removed:
                return
            if note is not None:
                self.note(note)
            self._progress.advance(self._task, steps)
            self._say_part()

    def reach(self, done: int) -> None:
        """Stand at ``done`` steps."""
        self._progress.update(self._task, completed=done)
        self._say_part()

    def note(self, text: str) -> None:
        self._progress.update(self._task, note=text)

    def remove(self) -> None:
        with self._lock:
            self._is_removed = True
            self._progress.remove_task(self._task)

    def _say_part(self) -> None:
        """Whoever made the bar says what came of it: the last part is theirs."""
        if console.is_terminal:
            return
        with self._lock:
            task = next(task for task in self._progress.tasks if task.id == self._task)
            part = int(PARTS * task.completed / (task.total or 1))
            if self._said < part < PARTS:
                self._said = part
                say(f"{task.description} {task.completed:.0f}/{task.total:.0f}")


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
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield progress


def add_bar(progress: Progress, description: str, total: int) -> Bar:
    return Bar(progress, progress.add_task(description, total=total, note=""))


def say(text: str) -> None:
    console.print(text)
