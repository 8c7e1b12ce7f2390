"""The checkpoints of ``lab check``, and what answers and counters say of each. Its sentences stand in points.toml."""

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from statistics import median
from typing import Any

from kvtiers.result.evidence import Counters
from kvtiers.units import format_bytes, format_seconds
from lab.judge.answers import GAP_NATS, drift_nats, first_difference
from lab.measure.cache_server import L1_HITS, L2_HITS
from lab.measure.client import Completion
from lab.measure.server import RequestError

Gap = Callable[[Sequence[int], int, int], float | None]
_WAIT_OF_A_DEGRADED_START_S = 2.5
_ENDINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class State(StrEnum):
    """How a checkpoint ended. UNCLEAR: the difference drowns in noise, or the server does not tell."""

    OK = "ok"
    FAILED = "failed"
    UNCLEAR = "unclear"
    SKIPPED = "skipped"


class Agreement(IntEnum):
    """Of two answers to one prompt, from good to bad. UNTOLD: they differ, and the server does not show why."""

    SAME, ROUNDING, UNTOLD, WRONG = range(4)


@dataclass(frozen=True)
class Point:
    """One checkpoint, in plain words."""

    name: str
    state: State
    what: str


def point(name: str, ending: str, **values: object) -> Point:
    """A checkpoint that ended so, one of its entries in points.toml."""
    state, sentence = _ENDINGS[name][ending]
    return Point(name, State(state), sentence.format(**values))


@dataclass
class Asked:
    """Answers of one step with what the counters moved by; None where there are no counters."""

    answers: list[Completion] = field(default_factory=list)
    counters: list[Counters | None] = field(default_factory=list)

    @property
    def times(self) -> list[float]:
        """TTFT of each, in seconds."""
        return [answer.ttft_s for answer in self.answers]

    def moved(self, name: str) -> int | None:
        """A counter's movement over all answers; None where there are no counters."""
        deltas = [getattr(counters, name) for counters in self.counters if counters]
        return sum(deltas) if deltas else None

    def cached(self) -> int | None:
        """Cached tokens by the usage of each answer; None where the server does not tell."""
        told = [answer.cached_tokens for answer in self.answers]
        return sum(tokens for tokens in told if tokens is not None) if any(t is not None for t in told) else None

    def kept(self, number: int) -> int | None:
        """Tokens of an answer's prompt whose KV was kept anywhere; None where the server does not tell."""
        counters = self.counters[number]
        return counters.own_hits + counters.external_hits if counters else self.answers[number].cached_tokens

    @property
    def disturbed(self) -> bool:
        """Did the counters move by other tokens than ours? Then somebody else asks as well."""
        pairs = zip(self.answers, self.counters, strict=True)
        return any(counters and counters.own_queries != answer.prompt_tokens for answer, counters in pairs)

    def __str__(self) -> str:
        low, high = format_seconds(min(self.times)), format_seconds(max(self.times))
        return f"{format_seconds(median(self.times))} ({low} to {high})"


def own_cache(cold: Asked, again: Asked) -> Point:
    """Does the same prompt at once hit the engine's own prefix cache?"""
    hits = again.cached() if again.moved("own_hits") is None else again.moved("own_hits")
    if hits == 0:
        ending = "missed"
    elif hits and min(again.times) > _WAIT_OF_A_DEGRADED_START_S:
        ending = "waits"
    else:
        ending = "faster" if clearly_faster(again, cold) else "noise"
    return point("own cache", ending, times=f"first {cold}, at once again {again}")


def tier(cold: Asked, late: Asked, answered_by: str) -> Point:
    """Did a tier below the engine's own cache answer, which, and was it faster?"""
    own, external = late.moved("own_hits") or 0, late.moved("external_hits") or 0
    if external == 0:
        ending = "held" if 2 * own > sum(answer.prompt_tokens for answer in late.answers) else "lost"
    else:
        ending = "faster" if clearly_faster(late, cold) else "noise"
    return point("tier", ending, tokens=external, by=answered_by, times=f"first {cold}, after eviction {late}")


def answers(cold: Asked, reused: Sequence[Asked], gap_nats: Gap) -> Point:
    """Are they the same, wherever the KV came from? ``gap_nats``: asks the server, as Client.gap_nats."""
    found = []
    for number, first in enumerate(cold.answers):
        others = [(step.answers[number], step.kept(number)) for step in reused if step.answers]
        found.append(max((agreement(first, other, gap_nats) for other, _ in others), default=Agreement.SAME))
        if len({kept for _, kept in others}) == 1 and len({(other.text, other.token_ids) for other, _ in others}) > 1:
            found[-1] = Agreement.WRONG
    many = f"{sum(kind is not Agreement.SAME for kind in found)} of {len(found)} prompts"
    return point("answers", max(found).name.lower(), many=many)


def agreement(first: Completion, other: Completion, gap_nats: Gap, tolerance_nats: float = GAP_NATS) -> Agreement:
    """Of two answers to one prompt, where rounding explains ``tolerance_nats``; ``gap_nats``: as Client.gap_nats."""
    apart = apart_nats(first, other, gap_nats)
    if apart is None:
        return Agreement.UNTOLD
    if apart > tolerance_nats:
        return Agreement.WRONG
    return Agreement.SAME if first.text == other.text else Agreement.ROUNDING


def apart_nats(first: Completion, other: Completion, gap_nats: Gap) -> float | None:
    """How far two answers lie apart: where logprobs are told, by how much a token of both was likelier in one of them,
    though they look alike; and by the gap between the two tokens at which they part. None: the server doesn't tell."""
    position = first_difference(first.token_ids, other.token_ids)
    apart = drift_nats(first.logprobs[:position], other.logprobs[:position])
    if position is None:
        return apart if first.text == other.text else None
    if not first.prompt_ids or position >= min(len(first.token_ids), len(other.token_ids)):
        return None
    before = (*first.prompt_ids, *first.token_ids[:position])
    try:
        gap = gap_nats(before, first.token_ids[position], other.token_ids[position])
    except RequestError:
        return None
    return math.inf if gap is None else max(apart, gap)


def clearly_faster(these: Asked, those: Asked) -> bool:
    """Every time of these below every time of those: by chance 1 in 20 with three each."""
    return max(these.times) < min(those.times)


def answered_by(before: dict[str, float], after: dict[str, float], *, with_server: bool = False) -> str:
    """Which tier it was, by counters of LMCache's server, ``with_server``, or of vLLM's own tiering."""
    names = {
        "l1": L1_HITS,
        "l2": L2_HITS,
        "loaded": "vllm:kv_offload_load_bytes_total",
        "read": "vllm:kv_offload_tiering_read_bytes_total",
    }
    moved = {key: after.get(name, 0.0) - before.get(name, 0.0) for key, name in names.items()}
    if moved["l1"] or moved["l2"]:
        return f"from LMCache's server: {moved['l1']:,.0f} out of its RAM (L1), {moved['l2']:,.0f} from below (L2)"
    if moved["loaded"]:
        loaded, read = format_bytes(moved["loaded"]), format_bytes(moved["read"])
        return f"through vLLM's own RAM tier: {loaded}, of it {read} from below"
    if with_server:
        return "from which tier can't be told: that LMCache server counts no hit"
    return "from which tier can't be told (LMCache's server tells with --server)"


def server_point(status: dict[str, Any]) -> Point:
    """Is LMCache's server well, and does an engine use it?"""
    try:
        manager, is_healthy = status["storage_manager"], status["is_healthy"]
        engines = len(status["registered_gpu_ids"]) + len(status["registered_non_cuda_instance_ids"])
        used, room = manager["l1_usage"]
        below = ", ".join(adapter["type"] for adapter in manager["l2_adapters"]) or "nothing"
    except (KeyError, TypeError, ValueError) as error:
        return point("server", "unread", why=repr(error))
    what = f"engines registered: {engines}; RAM {format_bytes(used)} of {format_bytes(room)}; below it: {below}"
    return point("server", "unhealthy" if not is_healthy else "used" if engines else "unused", what=what)
