"""A tier stack in small: replay requests through LRU tiers and see which tier answers, and what a restart costs.

A model, not an engine. It keeps whole prefixes, while engines keep blocks and chunks, and it runs one request at a
time. What it shares with vLLM 0.32.0 + LMCache 0.5.6: every computed prefix is stored in all tiers, a lookup goes from
the nearest tier down, a hit is copied into the tiers above, each tier evicts its least recently used entry, and a
restart empties what does not find its files again.
"""

import random
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from kvtiers.errors import KvtiersError
from kvtiers.ledger.costs import load_s, recompute_s
from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier
from kvtiers.units import GIB, positive

_Held = OrderedDict[int, None]  # documents of a tier, least recently used first


@dataclass(frozen=True)
class Workload:
    """Requests over ``documents`` prefixes of equal length, some asked for far more often than others."""

    requests: int
    documents: int
    prefix_tokens: int
    seed: int = 0

    def stream(self) -> list[int]:
        """The document of each request. Popularity falls as 1 / rank (Zipf); the seed fixes the order."""
        for name in ("requests", "documents", "prefix_tokens"):
            positive(name, getattr(self, name))
        weights = [1 / rank for rank in range(1, self.documents + 1)]
        return random.Random(self.seed).choices(range(self.documents), weights, k=self.requests)


@dataclass(frozen=True)
class StackTier:
    """One tier of the stack.

    Capacity 0 means that it does not exist, as with LMCache's local disk whose limit was left at 0.
    """

    tier: Tier
    capacity_gib: float
    survives_restart: bool = False


@dataclass(frozen=True)
class Speeds:
    """What one prefix costs: its KV size, the rate that computes it, and the bandwidths that bring it back."""

    kv_bytes_per_token: float
    prefill_tokens_per_s: float
    bandwidth_gb_per_s: dict[Tier, float] = field(default_factory=lambda: dict(DEFAULT_BANDWIDTH_GB_PER_S))


@dataclass(frozen=True)
class Replay:
    """Which tier answered each request (``Tier.NONE``: recomputed), and the seconds of TTFT that it saved."""

    answered_by: list[Tier]
    saved_s: float

    def share(self, tier: Tier) -> float:
        """The part of all requests, 0 to 1, that ``tier`` answered."""
        return self.answered_by.count(tier) / len(self.answered_by)

    @property
    def hit_rate(self) -> float:
        """The part of all requests, 0 to 1, that any tier answered."""
        return 1 - self.share(Tier.NONE)

    def hit_rate_over_time(self, window_requests: int) -> list[float]:
        """The hit rate of each run of ``window_requests`` requests, in order."""
        starts = range(0, len(self.answered_by), window_requests)
        windows = [self.answered_by[start : start + window_requests] for start in starts]
        return [1 - window.count(Tier.NONE) / len(window) for window in windows]


def replay(
    workload: Workload, tiers: Sequence[StackTier], speeds: Speeds, restarts_before: Collection[int] = ()
) -> Replay:
    """Run the workload through the stack.

    Args:
        workload: the requests.
        tiers: nearest first.
        speeds: KV size, prefill rate and bandwidths.
        restarts_before: indices of requests before which the engine restarts.
    """
    kv_bytes = workload.prefix_tokens * positive("kv_bytes_per_token", speeds.kv_bytes_per_token)
    caches = [(tier, _entries(tier, kv_bytes), _Held()) for tier in tiers]
    compute_s = recompute_s(workload.prefix_tokens, speeds.prefill_tokens_per_s)
    load_s_of = {Tier.NONE: compute_s, Tier.VRAM: 0.0}  # what is in VRAM is used where it lies
    for below in {tier.tier for tier in tiers} - {Tier.VRAM}:
        load_s_of[below] = load_s(workload.prefix_tokens, speeds.kv_bytes_per_token, speeds.bandwidth_gb_per_s[below])

    answered_by = []
    for index, document in enumerate(workload.stream()):
        for tier, _, held in caches:
            if index in restarts_before and not tier.survives_restart:
                held.clear()
        answered_by.append(_answer(caches, document))
    return Replay(answered_by, sum(compute_s - load_s_of[tier] for tier in answered_by))


def _entries(tier: StackTier, kv_bytes: float) -> int:
    if not 0 <= tier.capacity_gib < float("inf"):
        raise KvtiersError(f"capacity_gib of {tier.tier} must be a number of GiB, 0 or more, got {tier.capacity_gib!r}")
    return int(tier.capacity_gib * GIB // kv_bytes)


def _answer(caches: Iterable[tuple[StackTier, int, _Held]], document: int) -> Tier:
    """The nearest tier that holds the document; it and the tiers above it have it as their newest entry afterwards."""
    for tier, entries, held in caches:
        was_held = document in held
        held[document] = None
        held.move_to_end(document)
        if len(held) > entries:
            held.popitem(last=False)
        if was_held:
            return tier.tier
    return Tier.NONE
