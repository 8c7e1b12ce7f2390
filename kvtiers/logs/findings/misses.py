"""What was stored and did not come back: what the log allows to say of why."""

import re
from collections.abc import Iterator

from kvtiers.logs.findings.conclusion import Conclusion
from kvtiers.logs.requests import Kind
from kvtiers.logs.starts import Start
from kvtiers.logs.state import Log

_RECURRENT = re.compile(
    r"Qwen3Next|Qwen3_5|Jamba|NemotronH|Bamba|FalconH1|Granite\w*Hybrid|Mamba|Zamba|Plamo2|MiniMaxText|Lfm2|KimiLinear"
)
_HASH_WARNINGS = ("hash_fallback", "hash_without_seed")
# Hits stopped: as many missing as make it unlikely that they just were not due, and a few requests at the least.
_HITS_MISSING = 5
_REQUESTS_SINCE = 10
_HITS_BEFORE = 3


def misses(log: Log) -> Iterator[Conclusion]:
    """Problems of the latest start."""
    start = log.start
    if _no_connector(start):
        yield Conclusion("no_connector")
    if start.settings.get("local_disk") and "LocalDiskBackend" not in start.backends and not start.disk_path:
        yield Conclusion("no_disk_tier", {"limit": start.settings.get("max_local_disk_size", "?")})
    elif not log.mixed:
        yield from _stored_and_missed(log, start)
    if start.no_config_file and start.has_defaults and start.requests and not start.tier_hits:
        yield Conclusion("defaults_in_force", {"gib": start.settings.get("max_local_cpu_size", "?")})
    if start.kinds[Kind.UNPROVEN] and not start.connector.startswith("LMCacheMP"):  # its server logs the loads
        yield Conclusion("unproven", {"requests": start.kinds[Kind.UNPROVEN]})
    yield from () if log.mixed else _hits_stopped(start)
    yield from _of_an_mp_server(log, start)
    yield from _hybrid(start)
    if log.metrics.written and not log.metrics.ever_read:
        yield Conclusion("written_never_read", {"amount": log.metrics.written, "dumps": log.metrics.dumps})
    if log.metrics.failures:
        counters = ", ".join(f"{name} {count:,.0f}" for name, count in log.metrics.failures.items())
        yield Conclusion("failure_counters", {"counters": counters})


def _no_connector(start: Start) -> bool:
    """Has the log come as far as a connector would have shown? It is made before the server answers."""
    nothing = not (start.connectors or start.kinds or start.lmcache or start.mp or start.settings)
    came_far = (start.known and start.ready) or bool(start.own_hit_rate)
    return nothing and came_far and start.external_hit_rate is None


def _stored_and_missed(log: Log, start: Start) -> Iterator[Conclusion]:
    missed = start.kinds[Kind.MISSED_STORED]
    warned = any(log.warnings[name] for name in _HASH_WARNINGS)
    # What other processes and earlier starts stored can be found in a shared tier only, and by the same hash only.
    lost = start.missed_lengths_of_earlier if not start.tokens["loaded"] else 0
    shared = "RemoteBackend" in start.backends
    seeds = {seed for one in log.starts for seed in one.none_hashes}
    if len(start.none_hashes) > 1 or (missed and warned and not start.tokens["loaded"]):
        yield Conclusion("hash_drift", {"missed": missed})
    elif missed:
        yield Conclusion("stored_but_missed", {"missed": missed})
    elif lost and shared and (warned or len(seeds) > 1):
        yield Conclusion("hash_drift", {"missed": lost})
    elif lost:
        yield Conclusion("not_found_again" if shared else "lost_at_restart", {"missed": lost})
    elif start.missed_lengths and not start.tokens["loaded"] and start.stores and not start.kinds[Kind.ENGINE_HIT]:
        proven = start.missed_in_both == start.missed_lengths
        yield Conclusion("prompts_differ" if proven else "same_length_missed", {"missed": start.missed_lengths})
    elif start.kinds[Kind.TOO_SHORT] * 2 > start.requests:
        chunk = int(start.settings.get("chunk_size") or 256)
        yield Conclusion("too_short", {"requests": start.kinds[Kind.TOO_SHORT], "chunk": chunk})


def _hits_stopped(start: Start) -> Iterator[Conclusion]:
    computed, tokens = start.kinds[Kind.COLD] + start.kinds[Kind.MISSED_STORED], start.tokens
    of_requests = start.tier_hits, computed, start.since_hit
    of_a_server = tokens["mp_loads"], tokens["mp_stores"], start.stores_since_load
    for hits, computed, since in (of_requests, of_a_server):
        before = hits + computed - since
        due = since * hits / before if before else 0.0
        if hits >= _HITS_BEFORE and since >= _REQUESTS_SINCE and due >= _HITS_MISSING:
            yield Conclusion("hits_stopped", {"since": since, "hits": hits, "before": before})
            return


def _of_an_mp_server(log: Log, start: Start) -> Iterator[Conclusion]:
    engines, slots, tokens = log.registered_most, log.worker_slots, start.tokens
    # A restarted engine shares its predecessor's worker as well: without registrations the warning is all there is.
    shared = log.samples.get("mp_worker_shared")
    if (slots and engines > slots) or (shared and not engines):
        yield Conclusion("mp_few_workers", {"slots": slots or "?", "engines": engines or "?"})
    if tokens["mp_stores"] > 1 and not tokens["mp_loaded"] and not tokens["mp_keys_found"]:
        values = {"stored": tokens["mp_stored"], "stores": tokens["mp_stores"], "slots": slots or "?"}
        yield Conclusion("mp_never_loaded", values | {"engines": engines or "?"})
    if log.reaped:
        line = next(trouble.said for name, trouble in log.samples.items() if name.startswith("mp_reaped"))
        yield Conclusion("mp_reaped", {"line": line})


def _hybrid(start: Start) -> Iterator[Conclusion]:
    """Models with recurrent layers, whose state is no KV of single tokens."""
    came_back = start.external_hit_rate or start.tokens["loaded"] or start.tokens["mp_loaded"]
    if start.connector == "LMCacheMPConnector" and came_back and _RECURRENT.match(start.architecture):
        yield Conclusion("hybrid_in_mp", {"model": start.architecture})
