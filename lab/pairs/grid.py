"""Which pairs are wanted: named, or all combinations of versions and ranges of them."""

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kvtiers.settings.version_pairs import numbers
from lab.errors import LabError
from lab.pairs.layers import LMCACHE, VLLM

_VERSION = re.compile(r"\d+(\.\w+)+")


@dataclass(frozen=True)
class VersionPair:
    """Versions of vLLM and LMCache, as their packages spell them."""

    vllm: str
    lmcache: str

    def __str__(self) -> str:
        return f"vLLM {self.vllm} + LMCache {self.lmcache}"


def named(text: str) -> VersionPair:
    """``0.31.0:0.5.5``.

    Raises:
        LabError: it is no such thing.
    """
    vllm, _, lmcache = text.partition(":")
    if not (_VERSION.fullmatch(vllm) and _VERSION.fullmatch(lmcache)):
        raise LabError(f"a pair is VLLM:LMCACHE, as in 0.31.0:0.5.5, got {text!r}")
    return VersionPair(vllm, lmcache)


def grid(vllm: Sequence[str], lmcache: Sequence[str], base: Path) -> list[VersionPair]:
    """All combinations of versions, each text one of them or a range such as ``0.28.0..`` and ``0.28.0..0.30.0``;
    newest first, pairs of one vLLM together.

    Raises:
        LabError: a text is neither, or a range holds nothing.
    """
    wanted_vllm = _newest(_expand(vllm, partial(releases, VLLM, base)))
    wanted_lmcache = _newest(_expand(lmcache, partial(releases, LMCACHE, base)))
    return [VersionPair(one, other) for one in wanted_vllm for other in wanted_lmcache]


def releases(package: str, base: Path) -> list[str]:
    """What pip's index holds.

    Raises:
        LabError: with what pip said.
    """
    command = [str(base / "bin" / "python"), "-m", "pip", "index", "versions", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    if not found:
        lines = done.stderr.strip().splitlines() or ["nothing was said"]
        raise LabError(f"asking pip for the versions of {package} failed: {lines[-1][:300]}")
    return found[1].split(", ")


def _expand(texts: Sequence[str], all_versions: Callable[[], list[str]]) -> Iterator[str]:
    for text in texts:
        first, dots, last = text.partition("..")
        if not _VERSION.fullmatch(first) or (last and not _VERSION.fullmatch(last)):
            raise LabError(f"a version is 0.31.0, a range 0.28.0.. or 0.28.0..0.30.0, got {text!r}")
        if not dots:
            yield text
            continue
        within = [
            version
            for version in all_versions()
            if numbers(first) <= numbers(version) and (not last or numbers(version) <= numbers(last))
        ]
        if not within:
            raise LabError(f"there is no release in {text}")
        yield from within


def _newest(versions: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(versions), key=numbers, reverse=True)
