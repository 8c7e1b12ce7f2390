"""What a run owns on this machine's drives: locked while it lives, deleted when it ends, swept by the next run where it
was killed without a chance to."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.engines.shared_memory import remove_segment
from lab.errors import LabError
from lab.paths import LOGS

_PREFIX = "kvtiers-run-"


@contextmanager
def run_directory(root: Path) -> Iterator[Path]:
    """A fresh directory below ``root`` for one run; it is deleted afterwards, as are those of runs that died here."""
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):  # nobody takes for dead what is made and not locked yet
        for leftover in root.glob(f"{_PREFIX}*"):
            _sweep(leftover)
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        mine = _open(directory)
        fcntl.flock(mine, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(mine)


@contextmanager
def alone(folder: Path | None = None) -> Iterator[None]:
    """One run at a time in this clone: two would write the same ``folder``, by default the logs', and each would
    measure the other.

    Raises:
        LabError: another one is under way.
    """
    folder = folder or LOGS
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = _open(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LabError("another lab run is under way in this clone: wait for its end, or stop it with Ctrl-C") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _sweep(directory: Path) -> None:
    """Delete it, and the shared memory called like it, unless a living run holds it or it is someone else's."""
    try:
        if directory.stat().st_uid != os.getuid():
            return
        descriptor = _open(directory)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_segment(directory.name)
        shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = _open(root)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
