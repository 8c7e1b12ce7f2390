"""Writes FILE.br and FILE.gz beside what compresses well, so that the server has nothing to compute."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import brotli  # type: ignore[import-untyped]

SUFFIXES = frozenset({".html", ".css", ".js", ".mjs", ".json", ".svg", ".wasm", ".bin", ".py", ".txt"})
SMALL_BYTES = 1024
LARGE_BYTES = 2_000_000


def compress_site(folder: Path, cache: Path) -> None:
    """Compress every file below `folder` that gains by it; `cache` keeps results by content."""
    cache.mkdir(parents=True, exist_ok=True)
    files = [p for p in sorted(folder.rglob("*")) if p.suffix in SUFFIXES and p.stat().st_size > SMALL_BYTES]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(_compress, files, [cache] * len(files), chunksize=8))


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
            kept.write_bytes(packed)
        shutil.copy(kept, path.with_name(path.name + suffix))


def _quality(path: Path, size: int) -> int:
    """What every first visit fetches is worth minutes of compression, once. The rest is not."""
    if path.suffix == ".wasm" or path.name in ("start.bin", "start.js") or path.name.startswith("memory-"):
        return 11
    return 6 if size > LARGE_BYTES else 9
