"""The checkpoints of ``lab check``, and what answers and counters say of each."""

from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

from kvtiers.result.evidence import Counters
from kvtiers.units import format_bytes, format_seconds
from lab.measure.client import Completion

_WAIT_OF_A_DEGRADED_START_S = 2.5


class State(StrEnum):
    """How a checkpoint ended. UNCLEAR: the difference drowns in noise, or the server does not tell."""

    OK = "ok"
    FAILED = "failed"
    UNCLEAR = "unclear"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Point:
    """One checkpoint, in plain words."""

    name: str
    state: State
    what: str


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

    @property
    def disturbed(self) -> bool:
        """Did the counters move by other tokens than ours? Then somebody else asks as well."""
        pairs = zip(self.answers, self.counters, strict=True)
        return any(counters and counters.own_queries != answer.prompt_tokens for answer, counters in pairs)

    def __str__(self) -> str:
        low, high = format_seconds(min(self.times)), format_seconds(max(self.times))
        return f"{format_seconds(median(self.times))} ({low} to {high})"


def own_cache(cold: Asked, again: Asked) -> Point:
    """Does the same prompt at once hit the engine\'s own prefix cache?"""
    times = f"first {cold}, at once again {again}"
    hits = again.cached() if again.moved("own_hits") is None else again.moved("own_hits")
    if hits == 0:
        return Point("own cache", State.FAILED, f"the same prompt at once did not hit vLLM's own prefix cache; {times}")
    if hits and min(again.times) > _WAIT_OF_A_DEGRADED_START_S:
        return Point(
            "own cache",
            State.FAILED,
            f"hits, and yet each request waits about 3 s: LMCache started degraded, see its first ERROR; {times}",
        )
    if _clearly_faster(again, cold):
        return Point("own cache", State.OK, times)
    return Point("own cache", State.UNCLEAR, f"the difference is within the noise: use a longer prompt; {times}")


def tier(cold: Asked, late: Asked, answered_by: str) -> Point:
    """Did a tier below the engine's own cache answer, which, and was it faster?"""
    times = f"first {cold}, after eviction {late}"
    own, external = late.moved("own_hits") or 0, late.moved("external_hits") or 0
    asked = sum(answer.prompt_tokens for answer in late.answers)
    if external == 0 and 2 * own > asked:
        return Point("tier", State.UNCLEAR, f"the prompts were not pushed out of vLLM's own cache; {times}")
    if external == 0:
        return Point(
            "tier",
            State.FAILED,
            f"nothing came back after eviction: no tier kept it, or it is not found again "
            f"(disk limit 0? degraded start? hash?); {times}",
        )
    if _clearly_faster(late, cold):
        return Point("tier", State.OK, f"{external:,} tokens came back, {answered_by}; {times}")
    return Point(
        "tier", State.UNCLEAR, f"{external:,} tokens came back, {answered_by}, but not faster beyond the noise; {times}"
    )


def answers(*steps: Asked) -> Point:
    """Are they the same, wherever the KV came from?"""
    texts = [[answer.text for answer in step.answers] for step in steps if step.answers]
    different = sum(len(set(of_one)) > 1 for of_one in zip(*texts, strict=True))
    if different:
        prompts = f"{different} of {len(texts[0])} prompts"
        what = f"{prompts} were answered differently when reused: wrong KV, or numerics of batching"
        return Point("answers", State.FAILED, what)
    return Point("answers", State.OK, "the same answers cold and reused")


def _clearly_faster(these: Asked, those: Asked) -> bool:
    """Every time of these below every time of those: by chance 1 in 20 with three each."""
    return max(these.times) < min(those.times)


def answered_by(before: dict[str, float], after: dict[str, float]) -> str:
    """Which tier it was, by counters of LMCache's server or of vLLM's own tiering."""
    names = {
        "l1": "lmcache_mp_lookup_hit_l1_tokens_total",
        "l2": "lmcache_mp_lookup_hit_l2_tokens_total",
        "loaded": "vllm:kv_offload_load_bytes_total",
        "read": "vllm:kv_offload_tiering_read_bytes_total",
    }
    moved = {key: after.get(name, 0.0) - before.get(name, 0.0) for key, name in names.items()}
    if moved["l1"] or moved["l2"]:
        return f"from LMCache's server: {moved['l1']:,.0f} out of its RAM (L1), {moved['l2']:,.0f} from below (L2)"
    if moved["loaded"]:
        loaded, read = format_bytes(moved["loaded"]), format_bytes(moved["read"])
        return f"through vLLM's own RAM tier: {loaded}, of it {read} from below"
    return "from which tier can't be told (LMCache's server tells with --server)"


def server_point(status: dict[str, Any]) -> Point:
    """Is LMCache's server well, and does an engine use it?"""
    manager = status["storage_manager"]
    engines = len(status["registered_gpu_ids"]) + len(status["registered_non_cuda_instance_ids"])
    used, room = manager["l1_usage"]
    below = ", ".join(adapter["type"] for adapter in manager["l2_adapters"]) or "nothing"
    what = f"engines registered: {engines}; RAM {format_bytes(used)} of {format_bytes(room)}; below it: {below}"
    if not status["is_healthy"]:
        return Point("server", State.FAILED, f"it calls itself unhealthy; {what}")
    if not engines:
        return Point("server", State.FAILED, f"no engine uses it: is it the one in lmcache.mp.host and .port? {what}")
    return Point("server", State.OK, what)
