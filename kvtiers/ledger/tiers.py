"""Which tier should hold the KV cache? The judge asks its questions in order and stops at the first answer.

The order is the point: is the prefix reused at all, must several hosts share it, does it fit in free VRAM, in CPU RAM,
and only then SSD; last, is loading from there faster than computing?
"""

from dataclasses import dataclass
from enum import StrEnum

from kvtiers.errors import KvtiersError
from kvtiers.ledger.costs import break_even_tokens_per_s
from kvtiers.units import GIB, positive


class Tier(StrEnum):
    """Where KV can live, nearest first. NONE: no tier helps."""

    NONE = "none"
    VRAM = "vram"
    CPU = "cpu"
    SSD = "ssd"
    REMOTE = "remote"


class Reason(StrEnum):
    """Why the judge stopped; the words are the page's, in its language."""

    NOT_REUSED = "not_reused"
    SHARED = "shared"
    FITS_VRAM = "fits_vram"
    FITS_CPU = "fits_cpu"
    EXCEEDS_CPU = "exceeds_cpu"
    SLOWER = "slower"


# Order-of-magnitude bandwidths in GB/s, to be replaced by measured ones. VRAM: RTX 4090 (1008, GDDR6X). CPU: DDR.
# SSD: PCIe 4 NVMe, sequential read. REMOTE: 25 Gbit/s Ethernet, line rate.
DEFAULT_BANDWIDTH_GB_PER_S = {Tier.VRAM: 1000.0, Tier.CPU: 50.0, Tier.SSD: 6.0, Tier.REMOTE: 3.1}


@dataclass(frozen=True)
class Traffic:
    """What must be kept: ``prefixes`` of ``context_tokens`` each, different ones: 500 users of one prompt are one.

    ``shared``: several hosts must find what one of them computed.
    """

    context_tokens: float
    prefixes: float
    reused: bool
    shared: bool = False


@dataclass(frozen=True)
class Verdict:
    """The judge's answer with the numbers it compared."""

    tier: Tier
    reason: Reason
    needed_bytes: float
    free_vram_bytes: float
    cpu_ram_bytes: float


def judge(
    traffic: Traffic,
    kv_bytes_per_token: float,
    free_vram_gib: float,
    cpu_ram_gib: float,
    prefill_tokens_per_s: float | None = None,
) -> Verdict:
    """Choose the nearest tier that holds every reused prefix, or none where it loads more slowly than is computed.

    Args:
        traffic: prefixes to keep and whether they come back.
        kv_bytes_per_token: from ``kvtiers.model``: what the context keeps over its tokens. Where every layer
            grows, that is ``bytes_per_token``; with windows or states it is ``kept_bytes(context) / context``.
        free_vram_gib: what weights and activations leave to the KV pool, in GiB.
        cpu_ram_gib: what the host can spare for a CPU tier, in GiB.
        prefill_tokens_per_s: how fast the GPU computes; break-even is not asked where it is not known.

    Raises:
        KvtiersError: for numbers that are not above zero (free VRAM and RAM may be zero).
    """
    needed_bytes = (
        positive("context_tokens", traffic.context_tokens)
        * positive("prefixes", traffic.prefixes)
        * positive("kv_bytes_per_token", kv_bytes_per_token)
    )
    for name, value in (("free_vram_gib", free_vram_gib), ("cpu_ram_gib", cpu_ram_gib)):
        if not 0 <= value < float("inf"):
            raise KvtiersError(f"{name} must be a number of GiB, 0 or more, got {value!r}")
    free_vram_bytes, cpu_ram_bytes = free_vram_gib * GIB, cpu_ram_gib * GIB
    tier, reason = _nearest(traffic, needed_bytes, free_vram_bytes, cpu_ram_bytes)
    if prefill_tokens_per_s and tier in (Tier.CPU, Tier.SSD, Tier.REMOTE):
        break_even = break_even_tokens_per_s(kv_bytes_per_token, DEFAULT_BANDWIDTH_GB_PER_S[tier])
        if positive("prefill_tokens_per_s", prefill_tokens_per_s) >= break_even:
            tier, reason = Tier.NONE, Reason.SLOWER
    return Verdict(tier, reason, needed_bytes, free_vram_bytes, cpu_ram_bytes)


def _nearest(
    traffic: Traffic, needed_bytes: float, free_vram_bytes: float, cpu_ram_bytes: float
) -> tuple[Tier, Reason]:
    if not traffic.reused:
        return Tier.NONE, Reason.NOT_REUSED
    if traffic.shared:
        return Tier.REMOTE, Reason.SHARED
    if needed_bytes <= free_vram_bytes:
        return Tier.VRAM, Reason.FITS_VRAM
    if needed_bytes <= cpu_ram_bytes:
        return Tier.CPU, Reason.FITS_CPU
    return Tier.SSD, Reason.EXCEEDS_CPU
