"""The operating system's page cache: push files out of it, bring them in, and see which it holds. Needs no root."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def drop(files: Iterable[Path]) -> None:
    """Push the files out. Only clean pages go, so each is synced first."""
    for file in files:
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fill(files: Iterable[Path]) -> None:
    """Bring the files in, by reading them."""
    for file in files:
        file.read_bytes()


def held_share(files: Iterable[Path]) -> float:
    """The part of the files' pages that the page cache holds, 0 to 1; 0 where there are none.

    Raises:
        OSError: when the kernel refuses to tell, as it does about files of others.
    """
    held = pages = 0
    for file in files:
        states = _page_states(file)
        held += states.count(1)
        pages += len(states)
    return held / pages if pages else 0.0


def _page_states(file: Path) -> bytes:
    """One byte a page: 1 where it is in memory (mincore(2))."""
    with file.open("rb") as stream:
        if not os.fstat(stream.fileno()).st_size:
            return b""
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY) as view:
            states = (ctypes.c_ubyte * -(-len(view) // mmap.PAGESIZE))()
            first = ctypes.c_char.from_buffer(view)
            refused = _libc.mincore(ctypes.addressof(first), len(view), states)
            del first  # the view cannot be closed while it is borrowed
    if refused:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), str(file))
    return bytes(states)
