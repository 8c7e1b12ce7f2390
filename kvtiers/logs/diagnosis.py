"""From what a log said to what is wrong: problems, most telling first, or what went well."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from kvtiers.logs.state import Kind, Log, Start
from kvtiers.logs.warnings import WARNINGS
from kvtiers.settings.version_pairs import LMCacheMode, known_pair
from kvtiers.words import text, values_in

_INIT_FAILED = ("no_connector_for_device", "init_failed", "init_components_failed")
_LOAD_FAILED = ("kv_load_failure", "file_lost", "chunk_load_failed", "mp_keys_lost", "mp_short_read")
_HASH_WARNINGS = ("hash_fallback", "hash_without_seed")
_RETRIES_THAT_HANG = 3
_LITTLE = 1.5


@dataclass(frozen=True)
class Conclusion:
    """An id of the doctor's texts (``log.conclusion.<id>``) with its values."""

    id: str
    values: dict[str, Any] = field(default_factory=dict)

    def what(self, language: str = "en") -> str:
        return text(f"log.conclusion.{self.id}.what", language, self.values)

    def next_step(self, language: str = "en") -> str:
        return text(f"log.conclusion.{self.id}.next", language, self.values)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        return {
            "id": self.id,
            "values": values_in(language, self.values),
            "what": self.what(language),
            "next": self.next_step(language),
        }


@dataclass(frozen=True)
class TokenRates:
    """Medians in tokens per second, None where the log does not show them. ``ceiling``: load over prefill."""

    prefill: float | None
    load: float | None

    @property
    def ceiling(self) -> float | None:
        """How much faster a token is loaded than computed: no reuse can gain more."""
        return self.load / self.prefill if self.load and self.prefill else None


@dataclass(frozen=True)
class Diagnosis:
    """``problems`` is empty where all is well; ``conclusion`` is the first of them, or what went well."""

    log: Log
    conclusion: Conclusion
    problems: tuple[Conclusion, ...]
    rates: TokenRates
    cut_off: bool = False


def conclude(log: Log, cut_off: bool = False) -> Diagnosis:
    """Judge a log."""
    rates = TokenRates(*(median(each) if each else None for each in (log.prefill_rates, log.load_rates)))
    problems = tuple(_problems(log))
    return Diagnosis(log, problems[0] if problems else _good(log, rates), problems, rates, cut_off)


def _problems(log: Log) -> Iterator[Conclusion]:
    start, warnings = log.start, log.warnings
    yield from _never_ran(log, start)
    if warnings["abort_crash"]:
        yield Conclusion("abort_crash")
    elif warnings["engine_dead"]:
        yield Conclusion("engine_dead")
    if warnings["staging_exhausted"] >= _RETRIES_THAT_HANG:
        values = {"times": warnings["staging_exhausted"], "gib": start.settings.get("max_local_cpu_size", "?")}
        yield Conclusion("staging_exhausted", values)
    # One lost chunk makes several lines: count requests where the log names them.
    requests_failed = max(log.kinds[Kind.FAILED_LOAD], log.tokens["requests_with_load_failure"])
    failures = requests_failed or sum(warnings[name] for name in _LOAD_FAILED)
    if failures:
        recovered = warnings["kv_load_recovered"] and not warnings["kv_load_failure"]
        yield Conclusion("loads_recovered" if recovered else "load_failures", {"times": failures})
    no_disk = _lacks_disk_tier(start)
    if no_disk:
        yield Conclusion("no_disk_tier", {"limit": start.settings.get("max_local_disk_size", "?")})
    else:
        yield from _misses(log, start)
    if log.kinds[Kind.UNPROVEN]:
        yield Conclusion("unproven", {"requests": log.kinds[Kind.UNPROVEN]})


def _never_ran(log: Log, start: Start) -> Iterator[Conclusion]:
    warnings = log.warnings
    if warnings["unsupported_connector"] or warnings["offloading_needs_gpu"]:
        name = "unsupported_connector" if warnings["unsupported_connector"] else "offloading_needs_gpu"
        yield Conclusion(name)
    failed_import = next((log.samples[name] for name in ("import_failed", "import_name") if warnings[name]), "")
    if "lmcache" in failed_import or "vllm" in failed_import:
        yield Conclusion("version_mismatch", {"line": failed_import[-160:]})
    degraded = any(warnings[name] for name in _INIT_FAILED) or warnings["lookup_timeout"] > 1
    if degraded:
        yield Conclusion("degraded", {"waits": warnings["lookup_timeout"]})
    elif warnings["mp_no_handler"]:
        yield Conclusion("mp_transfer_mode")
    elif warnings["mp_degraded"] or warnings["mp_lookup_timeout"]:
        yield Conclusion("mp_server_gone", {"times": warnings["mp_degraded"] + warnings["mp_lookup_timeout"]})
    else:
        yield from _bad_pair(start)
    nothing_of_lmcache = not start.connector and not log.kinds and not start.lmcache and not _mp(log)
    if nothing_of_lmcache and _served(log, start) and log.external_hit_rate is None:
        yield Conclusion("no_connector")


def _bad_pair(start: Start) -> Iterator[Conclusion]:
    """LMCache names its version inside the engine only; a server's log does not say vLLM's."""
    if not (start.vllm and start.lmcache) or start.connector not in ("", "LMCacheConnectorV1"):
        return
    mode = LMCacheMode.IN_PROCESS
    pair = known_pair(mode, start.vllm, start.lmcache, start.device)
    if pair and not pair.works:
        values = {"vllm": start.vllm, "lmcache": start.lmcache, "mode": mode.value, "what": pair.what}
        yield Conclusion("known_bad_pair", values)


def _served(log: Log, start: Start) -> bool:
    """Has the log come as far as a connector would have shown? It is made before the server answers."""
    return bool((log.start_count and start.ready) or log.own_hit_rate)


def _lacks_disk_tier(start: Start) -> bool:
    asked = bool(start.settings.get("local_disk"))
    return asked and "LocalDiskBackend" not in start.backends and not start.disk_path


def _misses(log: Log, start: Start) -> Iterator[Conclusion]:
    """Stored and not found again: why?"""
    missed = log.kinds[Kind.MISSED_STORED]
    warned = any(log.warnings[name] for name in _HASH_WARNINGS)
    # What other processes and earlier starts stored can be found in a shared tier only, and by the same hash only.
    lost = start.missed_lengths_of_earlier if not start.tier_hits else 0
    shared = "RemoteBackend" in start.backends
    seeds = {seed for one in log.starts for seed in one.none_hashes}
    if len(start.none_hashes) > 1 or (missed and warned and not start.tier_hits):
        yield Conclusion("hash_drift", {"missed": missed})
    elif missed:
        yield Conclusion("stored_but_missed", {"missed": missed})
    elif lost and shared and (warned or len(seeds) > 1):
        yield Conclusion("hash_drift", {"missed": lost})
    elif lost:
        yield Conclusion("not_found_again" if shared else "lost_at_restart", {"missed": lost})
    elif start.missed_lengths and not start.tier_hits and start.stores and not log.kinds[Kind.ENGINE_HIT]:
        yield Conclusion("prompts_differ", {"missed": start.missed_lengths})
    elif log.kinds[Kind.TOO_SHORT] * 2 > sum(log.kinds.values()):
        chunk = int(start.settings.get("chunk_size") or 256)
        yield Conclusion("too_short", {"requests": log.kinds[Kind.TOO_SHORT], "chunk": chunk})


def _good(log: Log, rates: TokenRates) -> Conclusion:
    kinds, tokens = log.kinds, log.tokens
    loaded_requests = kinds[Kind.TIER_HIT] + kinds[Kind.PARTIAL]
    if loaded_requests or tokens["mp_loaded"]:
        gain = _typical_gain(log, rates)
        values: dict[str, Any] = {"requests": loaded_requests, "tokens": tokens["loaded"] + tokens["mp_loaded"]}
        if gain is not None and rates.ceiling is not None:
            values |= {"gain": gain, "ceiling": rates.ceiling}
            return Conclusion("little_gain" if gain < _LITTLE else "works", values)
        return Conclusion("works_unmeasured", values)
    if not kinds and not _mp(log):
        if log.external_hit_rate is not None:
            return Conclusion("rates_only", {"external": log.external_hit_rate})
        return Conclusion("no_requests")
    if kinds[Kind.ENGINE_HIT]:
        return Conclusion("engine_only", {"requests": kinds[Kind.ENGINE_HIT]})
    return Conclusion("no_reuse", {"requests": sum(kinds.values()) + tokens["mp_lookups"]})


def _typical_gain(log: Log, rates: TokenRates) -> float | None:
    """Of the last tier hits, the median of computed whole over loaded and the rest computed."""
    if not rates.prefill:
        return None
    gains = [
        (request.total / rates.prefill)
        / (request.retrieve_s + (request.total - request.computed - request.retrieved) / rates.prefill)
        for request in log.tier_hits
    ]
    return median(gains) if gains else None


def _mp(log: Log) -> bool:
    return any(log.tokens[name] for name in ("mp_stored", "mp_loaded", "mp_lookups"))


def explained(log: Log, names: Sequence[str], language: str) -> list[dict[str, Any]]:
    """Warnings with how often, the first line, and for known ones what they mean."""
    return [
        {
            "id": name,
            "times": log.warnings[name],
            "first": log.samples[name][:400],
            "meaning": text(f"warning.{name}.meaning", language, {}) if name in WARNINGS else None,
        }
        for name in names
    ]
