"""Is a sample what its name claims? The tier that a step names shows in every account of the request.

C, H and L are LMCache's words for tokens the engine already holds, tokens LMCache holds, tokens to load. L1 is the RAM
of LMCache's server, L2 the tier below it.
"""

from dataclasses import dataclass

from kvtiers.ledger.tiers import Tier
from kvtiers.result.steps import Step

# Of a document longer than a block or chunk, its whole ones hold at least half.
_LEAST_SHARE = 0.5


@dataclass(frozen=True)
class RequestLog:
    """What LMCache inside the engine logged about one request, in tokens and seconds; ``line``: the lookup's."""

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
class ServerLog:
    """What LMCache's server logged about one request. Of the ``keys`` looked up (one a chunk and rank), ``l1_keys`` lay
    in RAM and ``l2_keys`` were brought there from below in ``prefetch_s``; ``line`` says so, and is empty where nothing
    hit."""

    line: str
    keys: int
    l1_keys: int
    l2_keys: int
    prefetch_s: float
    retrieved_tokens: int
    retrieve_s: float
    stored_tokens: int
    store_s: float


@dataclass(frozen=True)
class ServerCounters:
    """Deltas of the server's /metrics over one request, in tokens of full chunks (``lmcache_mp_lookup_*``)."""

    requested: int
    l1_hits: int
    l2_hits: int


@dataclass(frozen=True)
class Counters:
    """Deltas of vLLM's /metrics over one request, in tokens: ``vllm:prefix_cache_*`` (the engine's own) and
    ``vllm:external_prefix_cache_*`` (through the connector; it is asked only for what the own cache lacks).
    ``prefill_s``: from the time a request was scheduled to its first token."""

    own_queries: int
    own_hits: int
    external_queries: int
    external_hits: int
    prefill_s: float = 0.0


@dataclass(frozen=True)
class Evidence:
    """Everything that proves one sample. None where there is no such witness: in-process mode has ``log``, MP mode
    ``server_log`` and ``server_counters``, a control neither, a foreign server what it shows."""

    log: RequestLog | None
    server_log: ServerLog | None
    server_counters: ServerCounters | None
    counters: Counters
    token_ids: tuple[int, ...]

    @property
    def moved(self) -> RequestLog | ServerLog | None:
        """The log that tells what was stored and retrieved, and how long it took."""
        return self.server_log or self.log


def contradictions(step: Step, prompt_tokens: int, evidence: Evidence) -> tuple[str, ...]:
    """Why the evidence cannot belong to ``step``, in plain words; empty when it fits."""
    against = _of_counters(step, prompt_tokens, evidence.counters)
    external = evidence.counters.external_hits
    if evidence.log:
        against |= _of_log(step, prompt_tokens, evidence.log) | _of_loads(step, evidence.log, external)
    if evidence.server_log:
        against |= _of_server_log(step, evidence.server_log) | _of_loads(step, evidence.server_log, external)
    if evidence.server_counters:
        against |= _of_server_counters(step, evidence.server_counters, external)
    against["no token was generated"] = not evidence.token_ids
    return tuple(said for said, is_so in against.items() if is_so)


def _of_counters(step: Step, prompt_tokens: int, counters: Counters) -> dict[str, bool]:
    own, external = counters.own_hits, counters.external_hits
    return {
        f"the prefix-cache query counter moved by {counters.own_queries} tokens for a prompt of {prompt_tokens}: "
        "another client used the server meanwhile": counters.own_queries != prompt_tokens,
        f"the engine's own prefix cache hit {own} of {prompt_tokens} tokens": step.tier is Tier.VRAM
        and own < _LEAST_SHARE * prompt_tokens,
        f"the engine still held {own} tokens in its own prefix cache": step.tier is not Tier.VRAM and own > 0,
        f"{external} of {prompt_tokens} tokens came back through the connector": step.is_reuse
        and external < _LEAST_SHARE * prompt_tokens,
        f"{external} tokens came back through the connector": not step.is_reuse and external > 0,
    }


def _of_log(step: Step, prompt_tokens: int, log: RequestLog) -> dict[str, bool]:
    c, h, load, retrieved = log.computed_tokens, log.hit_tokens, log.need_to_load_tokens, log.retrieved_tokens
    none, hit = step.tier is Tier.NONE, step.tier is Tier.VRAM
    return {
        f"LMCache's line counts {log.total_tokens} tokens for a prompt of {prompt_tokens}": log.total_tokens
        != prompt_tokens,
        f"a computed request must show C 0, H 0, L 0; LMCache logged C {c}, H {h}, L {load}": none and c + h + load > 0,
        f"a GPU hit must show C > 0, L 0; LMCache logged C {c}, L {load}": hit and not (c > 0 and load == 0),
        f"a reuse must show C 0, L > 0; LMCache logged C {c}, L {load}": step.is_reuse and not (c == 0 and load > 0),
        f"LMCache planned to load {load} tokens and retrieved {retrieved}": step.is_reuse and retrieved < load,
    }


def _of_server_log(step: Step, log: ServerLog) -> dict[str, bool]:
    found, retrieved = log.l1_keys + log.l2_keys, log.retrieved_tokens
    return _of_tiers(step, "log", log.l1_keys, log.l2_keys) | {
        f"LMCache's server retained {found} of {log.keys} keys": step.is_reuse and found != log.keys,
        "LMCache's server logged no load": step.is_reuse and retrieved == 0,
        f"LMCache's server logged a load of {retrieved} tokens": not step.is_reuse and retrieved > 0,
    }


def _of_loads(step: Step, log: RequestLog | ServerLog, external: int) -> dict[str, bool]:
    """LMCache's log and the engine's counters must name the same amount."""
    said = f"LMCache logged {log.retrieved_tokens} tokens loaded, and the engine counted {external}"
    return {said: step.is_reuse and log.retrieved_tokens != external}


def _of_server_counters(step: Step, counters: ServerCounters, external: int) -> dict[str, bool]:
    """Every full chunk that was looked up was there, and the engine loaded them all."""
    l1, l2, requested = counters.l1_hits, counters.l2_hits, counters.requested
    said = f"LMCache's server found {l1 + l2} of {requested} tokens, and the engine counted {external} loaded"
    return _of_tiers(step, "counters", l1, l2) | {said: step.is_reuse and not l1 + l2 == requested == external}


def _of_tiers(step: Step, witness: str, l1: int, l2: int) -> dict[str, bool]:
    """A GPU hit is looked up too, and may lie in any tier."""
    must, right = {
        Tier.NONE: ("L1 0, L2 0", l1 == l2 == 0),
        Tier.CPU: ("L1 > 0, L2 0", l1 > 0 == l2),
        Tier.SSD: ("L1 0, L2 > 0", l2 > 0 == l1),
    }.get(step.tier or Tier.VRAM, ("", True))
    return {f"the server's {witness} must show {must}; it shows L1 {l1}, L2 {l2}": not right}
