"""The build's steps as a reader of the terminal sees them: each with its progress, its seconds, and the total."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress

from progress import Bar, add_bar, bars, say


class Steps:
    """Steps that may run side by side."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def step(self, name: str, total: int = 1) -> Iterator[Bar]:
        """A bar of ``total`` while the step runs, a line with its seconds when it is done."""
        started = time.monotonic()
        bar = add_bar(self._progress, name, total)
        yield bar
        bar.remove()
        say(f"{_counted(name, total)}: {time.monotonic() - started:.1f} s")


@contextmanager
def steps() -> Iterator[Steps]:
    """All steps of one build, and the total when it has come to its end."""
    started = time.monotonic()
    with bars() as progress:
        yield Steps(progress)
    say(f"built in {time.monotonic() - started:.0f} s")


def _counted(name: str, total: int) -> str:
    return f"{name} {total}/{total}" if total > 1 else name
