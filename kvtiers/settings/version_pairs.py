"""What is said of vLLM and LMCache versions, and how wired; what others published stands in version_pairs.toml beside
this file."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from kvtiers.result.records import from_json
from kvtiers.tables import read_table

_PARTS = 5  # of a version, at most


class LMCacheMode(StrEnum):
    """How LMCache runs: in a server of its own, or inside the engine (the legacy)."""

    MP = "mp"
    IN_PROCESS = "in_process"


@dataclass(frozen=True)
class Pair:
    """One tried range of versions, bounds inclusive, an empty one open: where, what happened, who says so, when.

    ``engine``: vLLM's package. ``platform``: ``cuda`` or ``cpu``. ``what`` and ``source``: by language. ``measured``:
    by the lab, which says nothing of other versions, nor of another platform.
    """

    mode: LMCacheMode
    engine: str
    platform: str
    vllm_from: str
    vllm_to: str
    lmcache_from: str
    lmcache_to: str
    works: bool
    what: dict[str, str]
    source: dict[str, str]
    date: str
    measured: bool = False

    @property
    def vllm_span(self) -> str:
        """vLLM's versions in short."""
        return _shown(self.vllm_from, self.vllm_to)

    @property
    def lmcache_span(self) -> str:
        """LMCache's versions in short."""
        return _shown(self.lmcache_from, self.lmcache_to)

    @property
    def _single(self) -> bool:
        return self.vllm_from == self.vllm_to != "" and self.lmcache_from == self.lmcache_to != ""

    def holds(self, mode: LMCacheMode, platform: str, vllm: str, lmcache: str) -> bool:
        """Does this row speak of them? What is not seen, an empty text, may be anything. What worked or was measured
        holds for the very versions; what failed for others, for their patches and builds too. Of two single releases
        that fail nothing follows where others may run."""
        seen = vllm and lmcache and (platform or not self.measured)
        if not self.works and self._single and not seen:
            return False
        within = _is_within if self.works or self.measured else _may_be_within
        return (
            self.mode is mode
            and platform in ("", self.platform)
            and within(vllm, self.vllm_from, self.vllm_to)
            and within(lmcache, self.lmcache_from, self.lmcache_to)
        )


@cache
def reported_pairs() -> tuple[Pair, ...]:
    """What others published."""
    entries = read_table("settings/version_pairs.toml")["pair"]
    return tuple(from_json(Pair, entry, f"pair[{index}]") for index, entry in enumerate(entries))


def _shown(first: str, last: str) -> str:
    if first and last:
        return first if first == last else f"{first} – {last}"
    return f"≥ {first}" if first else f"≤ {last}"


def _is_within(version: str, first: str, last: str) -> bool:
    lowest, highest = span(version)
    return not version or (numbers(first) <= lowest and (not last or highest <= numbers(last)))


def _may_be_within(version: str, first: str, last: str) -> bool:
    """``0.5.6.1`` is no later than 0.5.6: nobody said that the patch mends what failed."""
    lowest, highest = span(version)
    return numbers(first) <= highest and (not last or lowest <= numbers(last, math.inf))


def span(version: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The lowest and the highest that it may be: ``0.26`` is 0.26.0, ``0.26.x`` any 0.26, and no number anything."""
    is_told = re.match(r"v?\d", version) and not re.search(r"\.[xX*]", version)
    return numbers(version), numbers(version, 0 if is_told else math.inf)


def numbers(version: str, rest: float = 0) -> tuple[float, ...]:
    """Those that it begins with, and ``rest`` for those it does not name. A letter before them, and what follows, as
    in ``v0.15.1+cu130``, do not decide."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    told = [float(part) for part in match[1].split(".")] if match else []
    return tuple(told + [rest] * (_PARTS - len(told)))
