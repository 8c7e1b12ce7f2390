"""The build's steps as a reader of the terminal sees them: each with its progress and its seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress

from progress import Bar, add_bar, say


@contextmanager
def step(progress: Progress, name: str, total: int = 1) -> Iterator[Bar]:
    """A bar of ``total`` while the step runs, a line with its seconds when it is done. Steps may run side by side."""
    started = time.monotonic()
    bar = add_bar(progress, name, total)
    yield bar
    bar.remove()
    counted = f"{name} {total}/{total}" if total > 1 else name
    say(f"{counted}: {time.monotonic() - started:.1f} s")
