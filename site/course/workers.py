"""The processes in which marimo runs."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context

from machine.limits import usable_threads


def marimo_workers() -> ProcessPoolExecutor:
    """Processes that have marimo and matplotlib imported already: to import them takes longer than most notebooks."""
    return ProcessPoolExecutor(usable_threads(), get_context("spawn"), _warm_up)


def end_workers() -> None:
    """At once, whatever they do: a build that has failed waits for no notebook. What was asked of them fails."""
    for worker in active_children():
        worker.terminate()


def _warm_up() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the builder itself hears it
    os.environ["MPLBACKEND"] = "svg"
    import marimo  # noqa: F401, PLC0415  only these processes need them
    import matplotlib.pyplot  # noqa: F401, PLC0415
