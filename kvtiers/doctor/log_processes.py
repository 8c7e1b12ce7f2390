"""Reads a large log file with several processes: they find what its lines say, this one adds it up in order."""

import gc
import marshal
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from kvtiers.doctor.log_files import BLOCK_BYTES, LONGEST_LINE, LogBlocks, is_gzip, whole_lines
from kvtiers.doctor.log_reader import LogReader, read_log
from kvtiers.doctor.log_scan import Scanner, events_of_lines
from kvtiers.doctor.log_state import Log
from kvtiers.errors import KvtiersError

LARGE_BYTES = 1 << 25
RANGE_BYTES = 1 << 22
_MOST_PROCESSES = 8


def read_log_file(path: Path, keep: int = 1000) -> tuple[Log, bool]:
    """A file, by several processes where it is large and not compressed; as ``read_log``."""
    processes = min(os.cpu_count() or 1, _MOST_PROCESSES)
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            # A pipe has no size, and cannot be read from more than one place.
            if processes == 1 or size < LARGE_BYTES or is_gzip(stream.peek(2)):
                return read_log(stream, str(path), keep)
            return _read_shared(path, stream, size, keep, processes), False
    except OSError as error:
        raise KvtiersError(f"cannot read {path}: {error.strerror or error}") from None
    except BrokenExecutor:
        raise KvtiersError(f"a process that read {path} was killed: is memory short?") from None


def _read_shared(path: Path, stream: BinaryIO, size: int, keep: int, processes: int) -> Log:
    reader = LogReader(keep)
    head = stream.read(BLOCK_BYTES) + stream.readline(LONGEST_LINE)
    for block in LogBlocks(BytesIO(head), str(path)):
        reader.take(events_of_lines(block.decode("utf-8", "replace")))
    waiting: deque[Future[bytes]] = deque()
    with ProcessPoolExecutor(processes, initializer=gc.disable) as pool:
        for start, end in _ranges(stream, size):
            waiting.append(pool.submit(_events, path, start, end))
            if len(waiting) > 2 * processes:  # events of more than that do not pile up
                reader.take(marshal.loads(waiting.popleft().result()))
        while waiting:
            reader.take(marshal.loads(waiting.popleft().result()))
    return reader.finish(str(path))


def _ranges(stream: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """From where the stream stands to the end, in pieces of whole lines."""
    start = stream.tell()
    while start < size:
        stream.seek(start + RANGE_BYTES)
        stream.readline(LONGEST_LINE)
        end = stream.tell()
        yield start, end
        start = end


def _events(path: Path, start: int, end: int) -> bytes:
    """Marshalled: the fastest way for plain tuples from one process to another."""
    scanner = Scanner()
    with path.open("rb") as stream:
        stream.seek(start)
        sizes = (min(BLOCK_BYTES, end - at) for at in range(start, end, BLOCK_BYTES))
        blocks = whole_lines(map(stream.read, sizes))
        return marshal.dumps([event for block in blocks for event in scanner.events(block)])
