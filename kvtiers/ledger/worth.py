"""Is a tier worth it? Seconds to the first token saved in a day, and what storing costs for them."""

from dataclasses import dataclass
from enum import StrEnum

from kvtiers.errors import KvtiersError
from kvtiers.ledger.costs import CHUNK_TOKENS, load_s, recompute_s
from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier
from kvtiers.units import positive

# A miss with a tier on is slower: KV is copied out. Claim `reported-miss`, least and most; the most is counted, so that
# a tier is not called worth it too soon.
REPORTED_MISS_PRICES = (0.03, 0.15)
MISS_PRICE = REPORTED_MISS_PRICES[1]
_HOURS = 24
_NOTICEABLE = 0.10
TIERS = (Tier.CPU, Tier.SSD, Tier.REMOTE)


class Worth(StrEnum):
    """How a tier's balance comes out."""

    IMPOSSIBLE = "impossible"  # shorter than a chunk
    LOSES = "loses"
    LITTLE = "little"  # under a tenth of the time to the first token
    YES = "yes"


@dataclass(frozen=True)
class PrefixTraffic:
    """Prompts that share prefixes of ``prefix_tokens``; ``repeated`` of the requests (0 to 1) find theirs stored."""

    prefix_tokens: float
    requests_per_hour: float
    repeated: float


@dataclass(frozen=True)
class Saving:
    """One tier's balance. Seconds are of the time to the first token; ``written_bytes_per_day`` wears a drive."""

    tier: Tier
    recompute_s: float
    reuse_s: float
    saved_s_per_day: float
    share_of_ttft: float
    written_bytes_per_day: float
    worth: Worth

    @property
    def speedup(self) -> float:
        """Of one hit."""
        return self.recompute_s / self.reuse_s


def savings(
    traffic: PrefixTraffic,
    kv_bytes_per_token: float,
    prefill_tokens_per_s: float,
    *,
    bandwidth_gb_per_s: dict[Tier, float] | None = None,
    miss_price: float = MISS_PRICE,
    chunk_tokens: int = CHUNK_TOKENS,
) -> tuple[Saving, ...]:
    """The balance of each tier, at bandwidths that are ceilings unless measured ones are given."""
    if not 0 <= traffic.repeated <= 1:
        raise KvtiersError(f"repeated must be between 0 and 1, got {traffic.repeated!r}")
    if not 0 <= miss_price < 1:
        raise KvtiersError(f"miss_price must be between 0 and 1, got {miss_price!r}")
    tokens = positive("prefix_tokens", traffic.prefix_tokens)
    requests = positive("requests_per_hour", traffic.requests_per_hour) * _HOURS
    whole_s = recompute_s(tokens, prefill_tokens_per_s)
    chunked = tokens // positive("chunk_tokens", chunk_tokens) * chunk_tokens
    balances = []
    for tier in TIERS:
        bandwidth = (bandwidth_gb_per_s or {}).get(tier, DEFAULT_BANDWIDTH_GB_PER_S[tier])
        reuse_s = load_s(chunked, kv_bytes_per_token, bandwidth) + recompute_s(tokens - chunked, prefill_tokens_per_s)
        hits, misses = requests * traffic.repeated, requests * (1 - traffic.repeated)
        saved_s = hits * (whole_s - reuse_s) - misses * miss_price * whole_s
        share = saved_s / (requests * whole_s)
        written = misses * chunked * kv_bytes_per_token
        balances.append(Saving(tier, whole_s, reuse_s, saved_s, share, written, _worth(chunked, share)))
    return tuple(balances)


def _worth(chunked_tokens: float, share: float) -> Worth:
    if not chunked_tokens:
        return Worth.IMPOSSIBLE
    if share <= 0:
        return Worth.LOSES
    return Worth.YES if share >= _NOTICEABLE else Worth.LITTLE
