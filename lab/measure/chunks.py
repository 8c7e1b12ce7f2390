"""LMCache's chunk files of this run: a directory of our own, and waiting for what is written there."""

import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from kvtiers.units import format_bytes
from lab.errors import LabError
from lab.measure import page_cache
from lab.waiting import tries
from machine.mounts import mount_of

WRITE_TIMEOUT_S = 120.0
_SUFFIXES = (".pt", ".data")  # LMCache's inside the engine, and its server's
_POLL_S = 0.02
_MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}
# Of a file, a page or two may go again at once.
_NEARLY_ALL = 0.99
# A run that fills the drive to the brim measures a full drive.
_SPARE_BYTES = 512 * 1024**2


class ChunkFiles:
    """The chunk files below one directory. ``chunk_bytes`` is the size of each. Its methods raise LabError where that
    does not come about."""

    def __init__(self, directory: Path, chunk_bytes: float, direct_io: bool) -> None:
        self.directory = directory
        self.chunk_bytes = chunk_bytes
        self.direct_io = direct_io

    def await_written(self, chunks: int, check: Callable[[], None]) -> None:
        """Block until ``chunks`` whole files lie on disk, every full chunk asked for so far: LMCache writes them behind
        the answer. ``check`` raises when waiting is in vain."""
        for is_last in tries(WRITE_TIMEOUT_S, _POLL_S):
            written = sum(file.stat().st_size >= self.chunk_bytes for file in self._files())
            if written >= chunks:
                return
            check()
            if is_last:
                raise LabError(
                    f"LMCache wrote {written} of {chunks} chunks in {WRITE_TIMEOUT_S:.0f} s: is its disk tier on?"
                )

    def leave_page_cache(self) -> None:
        """What is read next comes from the drive; with direct IO it does so anyway."""
        if self.direct_io:
            return
        page_cache.drop(self._files())
        held = page_cache.held_share(self._files())
        if held > 0:
            raise LabError(f"the page cache still holds {held:.1%} of the chunk files: the drive cannot be measured")

    def enter_page_cache(self) -> None:
        """What is read next comes from memory."""
        page_cache.fill(self._files())
        held = page_cache.held_share(self._files())
        if held < _NEARLY_ALL:
            raise LabError(f"the page cache holds only {held:.1%} of the chunk files: run fewer --repeats")

    def _files(self) -> Iterator[Path]:
        return chunk_files(self.directory)


def chunk_files(directory: Path) -> Iterator[Path]:
    """Those below a directory."""
    return (path for path in directory.rglob("*") if path.suffix in _SUFFIXES)


def check_cache_root(root: Path, needed_bytes: float) -> None:
    """Refuse a place where the experiment would measure something else, or fill the drive.

    Raises:
        LabError: ``/``, a memory file system, not writable, not enough space.
    """
    root = root.resolve()
    if root == Path("/"):
        raise LabError("the cache directory must not be /: name a directory with --cache-dir")
    file_system = mount_of(root).file_system
    if file_system in _MEMORY_FILE_SYSTEMS:
        raise LabError(f"{root} is on {file_system}, which is memory, not a drive: name another with --cache-dir")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make the cache directory {root}: {error.strerror}") from error
    if not os.access(root, os.W_OK):
        raise LabError(f"the cache directory {root} is not writable: name another with --cache-dir")
    free = shutil.disk_usage(root).free
    if free < needed_bytes + _SPARE_BYTES:
        raise LabError(
            f"the run writes about {format_bytes(needed_bytes)} of KV to {root}, which has {format_bytes(free)} free: "
            "name another with --cache-dir, or run fewer --repeats"
        )


def supports_direct_io(directory: Path) -> bool:
    """Can files here be read and written past the page cache? Some file systems open a file so, and then refuse."""
    probe = directory / "direct-io-probe"
    try:
        with mmap.mmap(-1, mmap.PAGESIZE) as page:  # aligned in memory, as the drive wants it
            descriptor = os.open(probe, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
            try:
                return os.write(descriptor, page) == mmap.PAGESIZE == os.preadv(descriptor, [page], 0)
            finally:
                os.close(descriptor)
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
