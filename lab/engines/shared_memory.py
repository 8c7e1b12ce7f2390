"""The segment that LMCache's server shares with an engine without a GPU: room for it before, nothing of it after."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kvtiers.units import GIB, format_bytes
from lab.errors import LabError

_FOLDER = Path("/dev/shm")
_PREFIX = "lmcache_l1_pool_"  # LMCache puts it before every name


@contextmanager
def shared_memory(name: str, gib: float) -> Iterator[None]:
    """For as long as servers use the segment ``name``. A server that was killed leaves it behind; it goes here.

    Raises:
        LabError: when it does not fit. Beyond the end of shared memory a process is killed, and no one is told why.
    """
    free = shutil.disk_usage(_FOLDER).free
    if gib * GIB > free:
        raise LabError(
            f"LMCache's server shares {format_bytes(gib * GIB)} with the engine, and {_FOLDER} has "
            f"{format_bytes(free)} free: shorten the documents, or give this machine more (a container: --shm-size)"
        )
    try:
        yield
    finally:
        remove_segment(name)


def remove_segment(name: str) -> None:
    """Of servers that are gone; a segment that is not there is no fault."""
    (_FOLDER / f"{_PREFIX}{name}").unlink(missing_ok=True)


def require_shared(server_log: Path) -> None:
    """An engine that cannot open the segment falls back without a word, and then another thing is measured.

    Raises:
        LabError: when it did.
    """
    if "Using pickle non-GPU transfer strategy" in server_log.read_text(errors="replace"):
        raise LabError(
            "the engine could not open the memory that LMCache's server shares, and sends KV through a socket: "
            f"{server_log}"
        )
