"""Is a sample what its name claims? The tier that a step names shows in the log line and in the counters.

C, H and L are LMCache's words for tokens the engine already holds, tokens LMCache holds, tokens to load.
"""

from dataclasses import dataclass

from kvtiers.ledger.tiers import Tier
from kvtiers.result.steps import Step


@dataclass(frozen=True)
class RequestLog:
    """What LMCache logged about one request, in tokens and seconds; ``line`` is the lookup line as printed."""

    line: str
    total_tokens: int
    computed_tokens: int
    hit_tokens: int
    need_to_load_tokens: int
    retrieved_tokens: int
    retrieve_s: float
    stored_tokens: int
    store_s: float


@dataclass(frozen=True)
class Counters:
    """Deltas of vLLM's /metrics over one request, in tokens: ``vllm:prefix_cache_*`` (the engine's own) and
    ``vllm:external_prefix_cache_*`` (through the connector; it is asked only for what the own cache lacks)."""

    own_queries: int
    own_hits: int
    external_queries: int
    external_hits: int


@dataclass(frozen=True)
class Evidence:
    """Everything that proves one sample. ``log`` is None where there is no LMCache or no log to read."""

    log: RequestLog | None
    counters: Counters
    token_ids: tuple[int, ...]


def contradictions(step: Step, prompt_tokens: int, evidence: Evidence) -> tuple[str, ...]:
    """Why the evidence cannot belong to ``step``, in plain words; empty when it fits."""
    found = _counter_contradictions(step, prompt_tokens, evidence.counters)
    if evidence.log:
        found += _log_contradictions(step, prompt_tokens, evidence.log)
    if not evidence.token_ids:
        found.append("no token was generated")
    return tuple(found)


def _counter_contradictions(step: Step, prompt_tokens: int, counters: Counters) -> list[str]:
    found = []
    if counters.own_queries != prompt_tokens:
        found.append(
            f"the prefix-cache query counter moved by {counters.own_queries} tokens for a prompt of {prompt_tokens}: "
            "another client used the server meanwhile"
        )
    if step.tier is Tier.VRAM and counters.own_hits == 0:
        found.append("the engine's own prefix cache hit nothing")
    if step.tier is not Tier.VRAM and counters.own_hits > 0:
        found.append(f"the engine still held {counters.own_hits} tokens in its own prefix cache")
    if step.is_reuse and counters.external_hits == 0:
        found.append("nothing came back through the connector")
    if not step.is_reuse and counters.external_hits > 0:
        found.append(f"{counters.external_hits} tokens came back through the connector")
    return found


def _log_contradictions(step: Step, prompt_tokens: int, log: RequestLog) -> list[str]:
    found = []
    if log.total_tokens != prompt_tokens:
        found.append(f"LMCache's line counts {log.total_tokens} tokens for a prompt of {prompt_tokens}")
    c, h, load = log.computed_tokens, log.hit_tokens, log.need_to_load_tokens
    if step.tier is Tier.NONE and (c, h, load) != (0, 0, 0):
        found.append(f"a computed request must show C 0, H 0, L 0; LMCache logged C {c}, H {h}, L {load}")
    if step.tier is Tier.VRAM and not (c > 0 and load == 0):
        found.append(f"a GPU hit must show C > 0, L 0; LMCache logged C {c}, L {load}")
    if step.is_reuse and not (c == 0 and load > 0):
        found.append(f"a reuse must show C 0, L > 0; LMCache logged C {c}, L {load}")
    if step.is_reuse and log.retrieved_tokens < load:
        found.append(f"LMCache planned to load {load} tokens and retrieved {log.retrieved_tokens}")
    return found
