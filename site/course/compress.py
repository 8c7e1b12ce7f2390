"""Writes FILE.br and FILE.gz beside what compresses well, so that the server has nothing to compute.

What ends in .bin is packed inside already.
"""

import gzip
import hashlib
import shutil
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

import brotli  # type: ignore[import-untyped]
from rich.progress import Progress

from course.steps import step
from machine.limits import usable_threads

SUFFIXES = frozenset({".html", ".css", ".js", ".mjs", ".json", ".svg", ".wasm", ".py", ".txt"})
SMALL_BYTES = 1024
LARGE_BYTES = 2_000_000
BEST = 11


class Compressor:
    """Compresses what is final while the build goes on; both packers let other threads run.

    Args:
        cache: keeps results by content.
    """

    def __init__(self, cache: Path) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self._cache = cache
        self._pool = ThreadPoolExecutor(usable_threads())
        self._packing: dict[Path, Future[None]] = {}

    def add(self, folder: Path) -> None:
        """Compress every file below `folder` that gains by it, what takes longest first."""
        files = [p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.stat().st_size > SMALL_BYTES]
        for path in sorted(set(files) - set(self._packing), key=_work, reverse=True):
            self._packing[path] = self._pool.submit(_compress, path, self._cache)

    def finish(self, progress: Progress) -> None:
        sizes = {packed: path.stat().st_size for path, packed in self._packing.items()}
        with step(progress, "compress (kB)", sum(sizes.values()) // 1000) as bar:
            done = 0
            for packed in as_completed(sizes):
                packed.result()
                done += sizes[packed]
                bar.reach(done // 1000)
        self._pool.shutdown()

    def stop(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _work(path: Path) -> tuple[bool, int]:
    size = path.stat().st_size
    return _quality(path, size) == BEST, size


def _compress(path: Path, cache: Path) -> None:
    content = path.read_bytes()
    quality = _quality(path, len(content))
    key = f"{hashlib.sha256(content).hexdigest()}-{quality}"
    for suffix in (".br", ".gz"):
        kept = cache / (key + suffix)
        if not kept.is_file():
            if suffix == ".br":
                packed = brotli.compress(content, quality=quality, lgwin=24)
            else:
                packed = gzip.compress(content, 6, mtime=0)
            work = cache / f"{key}{suffix}.{path.parent.name}"  # half a file may not pass for a whole one
            work.write_bytes(packed)
            work.replace(kept)
        shutil.copy(kept, path.with_name(path.name + suffix))


def _quality(path: Path, size: int) -> int:
    """What every first visit fetches is worth a minute of compression, once. The rest is not."""
    if path.name == "start.js":
        return BEST
    return 6 if size > LARGE_BYTES else 9
