"""Which vLLM and LMCache versions work together, and how wired, read from version_pairs.toml beside this file."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from kvtiers.result.records import from_json
from kvtiers.tables import read_table


class LMCacheMode(StrEnum):
    """How LMCache runs: in a server of its own, or inside the engine (the legacy)."""

    MP = "mp"
    IN_PROCESS = "in_process"


@dataclass(frozen=True)
class Pair:
    """One tried range of versions, bounds inclusive, an empty one open: where, what happened, who says so, when.

    ``engine``: vLLM's package. ``platform``: ``cuda`` or ``cpu``. ``what`` and ``source``: by language.
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

    def holds(self, mode: LMCacheMode, platform: str, vllm: str, lmcache: str) -> bool:
        """Does this row speak of them? What is not seen, an empty text, may be anything."""
        return (
            self.mode is mode
            and platform in ("", self.platform)
            and _within(vllm, self.vllm_from, self.vllm_to)
            and _within(lmcache, self.lmcache_from, self.lmcache_to)
        )


@cache
def known_pairs() -> tuple[Pair, ...]:
    """Every pair on record, the recommended one first."""
    entries = read_table("settings/version_pairs.toml")["pair"]
    return tuple(from_json(Pair, entry, f"pair[{index}]") for index, entry in enumerate(entries))


def known_pair(mode: LMCacheMode, vllm: str, lmcache: str, platform: str = "") -> Pair | None:
    """What is known of these versions, a failure before a success; None where nobody has said.

    An empty ``platform``, ``vllm`` or ``lmcache`` is one that was not seen: then it is what they may be.
    """
    held = [pair for pair in known_pairs() if pair.holds(mode, platform, vllm, lmcache)]
    return next((pair for pair in held if not pair.works), held[0] if held else None)


def _within(version: str, first: str, last: str) -> bool:
    """Is a version between two bounds? ``0.15.1+cu130`` is 0.15.1: what follows the numbers does not decide."""
    if not version:
        return True
    given, lowest, highest = map(numbers, (version, first, last))
    return lowest <= given and (not last or given <= highest)


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
