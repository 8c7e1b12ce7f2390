"""Are greedy answers to one document the same, wherever their KV came from?

What prefills the same tail over the same KV must agree to the token. Between a computed and a reused prompt, between
arms and across a restart, prefill differs in shape or in process, and answers may part where two tokens are about
equally likely; anything else is wrong KV.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvtiers.ledger.tiers import Tier
from kvtiers.result.schema import Parting, Sample
from kvtiers.result.steps import Moment

# Chosen, not measured on a GPU. A bfloat16 holds 8 bits, so logits between 16 and 32, as likely tokens have them, lie
# 0.125 apart: four such steps. The likelier of two tokens is then at most 1.65 times as likely as the other.
GAP_NATS = 0.5
# What float32 explains, and more: on the lab's CPU engine right answers lay 0 apart.
EXACT_NATS = 0.02


@dataclass(frozen=True)
class Difference:
    """Two answers to one prompt that part at generated token ``position``."""

    first: Sample
    other: Sample
    position: int

    @property
    def tokens(self) -> tuple[int, int] | None:
        """The candidates at that place; None where one answer ended there."""
        first, other = self.first.evidence.token_ids, self.other.evidence.token_ids
        return None if self.position >= min(len(first), len(other)) else (first[self.position], other[self.position])

    def parting(self, gap_nats: float | None) -> Parting:
        """For the result, with how far the candidates lie apart."""
        other = self.other
        return Parting(other.arm, other.step, other.document, other.repeat, self.position, gap_nats)


def differences(samples: Sequence[Sample]) -> list[Difference]:
    """Every sample that answers otherwise than the first of its document and repeat."""
    pairs = [
        (first, other, first_difference(first.evidence.token_ids, other.evidence.token_ids))
        for first, other in _pairs(_place, samples)
    ]
    return [Difference(first, other, position) for first, other, position in pairs if position is not None]


def first_difference(first: Sequence[int], other: Sequence[int]) -> int | None:
    """Where two answers part, counted from 0; None where they are equal."""
    pairs = itertools.zip_longest(first, other)
    return next((position for position, (one, two) in enumerate(pairs) if one != two), None)


def drift_nats(first: Sequence[float], other: Sequence[float]) -> float:
    """By how much the same tokens were likelier in one answer than in the other, at most; by nothing where that is not
    told."""
    return max((abs(one - two) for one, two in zip(first, other, strict=False)), default=0.0)


def is_rounding(gap_nats: float | None) -> bool:
    """Do candidates so far apart part by rounding alone? None: it couldn't be asked, or they are further apart."""
    return gap_nats is not None and gap_nats <= GAP_NATS


def wrong_answers(samples: Sequence[Sample], partings: Sequence[Parting]) -> tuple[str, ...]:
    """Why the KV was wrong, a line each; empty where all answers are equal but for rounding."""
    return (*_over_the_same_kv(samples), *_beyond_rounding(samples, partings))


def _over_the_same_kv(samples: Sequence[Sample]) -> Iterator[str]:
    kept = [sample for sample in samples if sample.step.is_reuse or sample.step.tier is Tier.VRAM]
    for first, other in _pairs(_same_kv, kept):
        if other.evidence.token_ids != first.evidence.token_ids:
            yield f"{_name(other)} generated other tokens than {first.step} over the same KV: one of them was damaged"


def _beyond_rounding(samples: Sequence[Sample], partings: Sequence[Parting]) -> Iterator[str]:
    gaps = {(p.arm, p.step, p.document, p.repeat): p.gap_nats for p in partings}
    for found in differences(samples):
        other = found.other
        gap = gaps.get((other.arm, other.step, other.document, other.repeat))
        if not is_rounding(gap):
            apart = "and how far the two lie apart is not known" if gap is None else f"{gap:.2f} nats apart"
            yield (
                f"{_name(other)} generated another token than {found.first.arm} {found.first.step} at place "
                f"{found.position}, {apart}: rounding explains {GAP_NATS} at most, so the KV was wrong"
            )


def _pairs(key: Callable[[Sample], object], samples: Sequence[Sample]) -> Iterator[tuple[Sample, Sample]]:
    """The first of each group beside each other one of it."""
    groups: dict[object, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    for first, *others in groups.values():
        yield from ((first, other) for other in others)


def _place(sample: Sample) -> tuple[object, ...]:
    return sample.document, sample.repeat


def _same_kv(sample: Sample) -> tuple[object, ...]:
    """Computed by one process, kept somewhere, and a tail of one length prefilled behind it."""
    counters = sample.evidence.counters
    tail = sample.prompt_tokens - counters.own_hits - counters.external_hits
    return (*_place(sample), sample.arm, sample.step.moment is Moment.RESTARTED, tail)


def _name(sample: Sample) -> str:
    return f"{sample.document}, repeat {sample.repeat}: {sample.arm} {sample.step}"
