"""Which vLLM and LMCache versions work together, read from version_pairs.toml beside this file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from kvtiers.result.records import from_json
from kvtiers.tables import read_table


@dataclass(frozen=True)
class Pair:
    """One tried range of versions, bounds inclusive: what happened (by language), who says so, when."""

    vllm_from: str
    vllm_to: str
    lmcache_from: str
    lmcache_to: str
    works: bool
    what: dict[str, str]
    source: str
    date: str


@cache
def known_pairs() -> tuple[Pair, ...]:
    """Every pair on record, the recommended one first."""
    entries = read_table("settings/version_pairs.toml")["pair"]
    return tuple(from_json(Pair, entry, f"pair[{index}]") for index, entry in enumerate(entries))


def verdict(vllm: str, lmcache: str, pairs: Sequence[Pair]) -> Pair | None:
    """What is known about these two versions; None where nobody has said."""
    for pair in pairs:
        in_vllm = _numbers(pair.vllm_from) <= _numbers(vllm) <= _numbers(pair.vllm_to)
        in_lmcache = _numbers(pair.lmcache_from) <= _numbers(lmcache) <= _numbers(pair.lmcache_to)
        if in_vllm and in_lmcache:
            return pair
    return None


def _numbers(version: str) -> tuple[int, ...]:
    """``0.15.1+cu130`` as (0, 15, 1); what follows the numbers does not decide compatibility."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
