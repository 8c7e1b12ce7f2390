"""The experiment's steps: one table, read by scenarios, evidence, report, chart, notebook and site.

A new step is one entry here and its words (``step.<id>`` in kvtiers/words).
"""

from enum import StrEnum

from kvtiers.ledger.tiers import Tier


class Arm(StrEnum):
    """With LMCache, and the same engine without it."""

    LMCACHE = "lmcache"
    CONTROL = "control"


class Moment(StrEnum):
    """When a step asks for the document."""

    FIRST = "first"
    AT_ONCE = "at once"
    EVICTED = "once other documents have pushed it out of the engine's pool"
    RESTARTED = "once every process was started anew"


class Step(StrEnum):
    """``tier``: whose KV answers, NONE where it is computed, None where it can't be told; ``moment``: when it is asked;
    ``arms``: where it is run; ``page_cache``: does the operating system hold the chunk files in memory?"""

    COLD = "cold", Tier.NONE, Moment.FIRST
    GPU_HIT = "gpu_hit", Tier.VRAM, Moment.AT_ONCE
    CPU_HIT = "cpu_hit", Tier.CPU, Moment.EVICTED, (Arm.LMCACHE,)
    SSD_REUSE = "ssd_reuse", Tier.SSD, Moment.EVICTED, (Arm.LMCACHE,)
    PAGE_CACHE_REUSE = "page_cache_reuse", Tier.SSD, Moment.EVICTED, (Arm.LMCACHE,), True
    REUSE = "reuse", None, Moment.EVICTED, (Arm.LMCACHE,)
    SSD_AFTER_RESTART = "ssd_after_restart", Tier.SSD, Moment.RESTARTED, (Arm.LMCACHE,)
    EVICTED_RECOMPUTE = "evicted_recompute", Tier.NONE, Moment.EVICTED, (Arm.CONTROL,)

    tier: Tier | None
    moment: Moment
    arms: tuple[Arm, ...]
    page_cache: bool

    def __new__(
        cls,
        id_: str,
        tier: Tier | None = Tier.NONE,
        moment: Moment = Moment.FIRST,
        arms: tuple[Arm, ...] = tuple(Arm),
        page_cache: bool = False,
    ) -> "Step":
        """The id is the text; the rest are attributes."""
        step = str.__new__(cls, id_)
        step._value_ = id_
        step.tier, step.moment, step.arms, step.page_cache = tier, moment, arms, page_cache
        return step

    @property
    def is_reuse(self) -> bool:
        """Does KV come back through the connector?"""
        return self.tier not in (Tier.NONE, Tier.VRAM)
