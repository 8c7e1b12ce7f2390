"""One request of a log: what it was, in tokens and seconds."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a request was."""

    COLD = "cold"
    ENGINE_HIT = "engine_hit"
    TIER_HIT = "tier_hit"
    PARTIAL = "partial"  # some from the engine's own cache, more from a tier
    UNPROVEN = "unproven"  # a load was planned, the log does not show it
    MISSED_STORED = "missed_stored"  # the engine had computed and LMCache stored it before; LMCache found nothing
    TOO_SHORT = "too_short"
    SKIPPED = "skipped"
    FAILED_LOAD = "failed_load"


@dataclass(slots=True)
class Request:
    """One request, in tokens and seconds; ``at_s``: time of its lookup within the day, -1 where not said."""

    id: str
    total: int
    computed: int
    hit: int
    load: int
    skipped: bool = False
    at_s: float = -1.0
    stored: int = 0
    retrieved: int = 0
    required: int = 0
    retrieve_s: float = 0.0
    prefill_s: float = 0.0
    failed: bool = False
    stored_before: bool = False
    kind: Kind = Kind.COLD

    @property
    def retrieve_tokens_per_s(self) -> float:
        """Speed of the load; 0 where there was none."""
        return self.retrieved / self.retrieve_s if self.retrieve_s else 0.0

    def judged(self, chunk: int) -> Kind:
        """What it was, by chunks of ``chunk`` tokens."""
        if self.failed or (self.required and self.retrieved < self.required):
            kind = Kind.FAILED_LOAD
        elif self.skipped:
            kind = Kind.SKIPPED
        elif self.load > 0 and not self.retrieved:
            # Old versions plan the last tokens of a full hit, of which the engine computes the end anyway.
            kind = Kind.ENGINE_HIT if self.computed and self.load < chunk else Kind.UNPROVEN
        elif self.load > 0:
            kind = Kind.PARTIAL if self.computed else Kind.TIER_HIT
        elif self.computed >= chunk and self.hit == 0 and self.stored_before:
            kind = Kind.MISSED_STORED
        elif self.computed > 0:
            kind = Kind.ENGINE_HIT
        else:
            kind = Kind.TOO_SHORT if 0 < self.total < chunk else Kind.COLD
        return kind
