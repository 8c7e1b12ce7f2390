"""How much of this machine the build takes, and the processes in which marimo runs."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path


def usable_cpus() -> int:
    """Threads of computation that run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows can't say what this process may use
        return os.cpu_count() or 1


def marimo_workers() -> ProcessPoolExecutor:
    """Processes that have marimo and matplotlib imported already: to import them takes longer than most notebooks."""
    return ProcessPoolExecutor(usable_cpus(), get_context("spawn"), _warm_up)


def _warm_up() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the builder itself hears it
    os.environ["MPLBACKEND"] = "svg"
    # marimo's export looks for uv on PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    import marimo  # noqa: F401, PLC0415  only these processes need them
    import matplotlib.pyplot  # noqa: F401, PLC0415
