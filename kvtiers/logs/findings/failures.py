"""What failed: starts, tiers, stores and loads, each with the line that says so first."""

import re
from collections import Counter
from collections.abc import Iterator

from kvtiers.logs.findings.conclusion import Conclusion
from kvtiers.logs.requests import Kind
from kvtiers.logs.scan import OTHERS
from kvtiers.logs.starts import Start
from kvtiers.logs.state import Log
from kvtiers.logs.warnings import PROBLEMS
from kvtiers.settings.known_pairs import known_pair
from kvtiers.settings.version_pairs import LMCacheMode

# Most telling first. Of what follows from another the other is said: see _OUTRANKED.
_AT_START = (
    "out_of_gpu_memory",
    "shm_too_small",
    "shm_full",
    "hybrid_dead_end",
    "hma_refused",
    "unsupported_connector",
    "offloading_needs_gpu",
    "offload_size_missing",
    "offload_tier_unknown",
    "out_of_ram",
)
_WHILE_SERVING = (
    "abort_crash",
    "engine_dead",
    "puts_failed",
    "remote_gone",
    "tier_not_created",
    "unhealthy",
    "mp_unregistered",
    "ranks_differ",
    "answered_500",
)
_OUTRANKED = {"hma_refused": "hybrid_dead_end", "engine_dead": "abort_crash"}
_RETRIES_THAT_HANG = 3


def failed_before(log: Log) -> list[Start]:
    """Starts that failed before a later one of the same server serves, in the same container or an LMCache server's."""
    starts = list(log.starts)
    return [
        start
        for number, start in enumerate(starts)
        if start.failed
        and any(
            (later.server and (later.served or not later.errors))
            if start.server
            else (later.served and later.container == start.container)
            for later in starts[number + 1 :]
        )
    ]


def failures(log: Log) -> Iterator[Conclusion]:
    """Every kind of failure that lines of the log show, first causes first."""
    made_good = {id(start) for start in failed_before(log)}
    starts = [start for start in log.starts if id(start) not in made_good]
    warnings: Counter[str] = sum((start.warnings for start in starts), Counter())
    known = list(_known(log, starts, warnings))
    unknown = _unknown(starts)
    if unknown and unknown.values["start"]:  # what failed a start comes before all that was said later
        known.insert(0, unknown)
    elif unknown and not (known and unknown.values["after"]):
        known.append(unknown)
    yield from known
    severe = next((error for start in starts for error in start.errors if error.known), None)
    if severe and not known and not log.kinds[Kind.FAILED_LOAD]:
        yield Conclusion("known_error", {"times": warnings[severe.id], "line": severe.said})


def _known(log: Log, starts: list[Start], warnings: Counter[str]) -> Iterator[Conclusion]:
    start = log.start
    others = {entry["name"] for name, entry in OTHERS.items() if entry.get("apart") and log.other_systems[name]}
    if log.mixed or others:
        yield Conclusion("two_servers", {"servers": ", ".join(sorted(log.mixed | others))})
    yield from _named(log, starts, warnings, _AT_START)
    failed_import = next((log.samples[name].said for name in ("import_failed", "import_name") if warnings[name]), "")
    if failed_import:
        # A module of theirs that is missing, not they themselves.
        about = "version_mismatch" if re.search(r"(?:lmcache|vllm)\.", failed_import) else "import_failed"
        yield Conclusion(about, {"line": failed_import[-160:]})
    if any(warnings[name] for name in PROBLEMS["degraded"]) or warnings["lookup_timeout"] > 1:
        yield Conclusion("degraded", {"waits": warnings["lookup_timeout"]})
    elif warnings["mp_no_handler"]:
        yield Conclusion("mp_transfer_mode")
    else:
        yield from _mp_server(log, warnings)
        yield from _bad_pair(log)
    yield from _named(log, starts, warnings, _WHILE_SERVING)
    if warnings["staging_exhausted"] >= _RETRIES_THAT_HANG:
        values = {"times": warnings["staging_exhausted"], "gib": start.settings.get("max_local_cpu_size", "?")}
        yield Conclusion("staging_exhausted", values)
    # One lost chunk makes several lines: count requests where the log names them.
    requests_failed = max(log.kinds[Kind.FAILED_LOAD], log.tokens["requests_with_load_failure"])
    times = requests_failed or sum(warnings[name] for name in PROBLEMS["load_failures"])
    if times:
        recovered = warnings["kv_load_recovered"] and not warnings["kv_load_failure"]
        yield Conclusion("loads_recovered" if recovered else "load_failures", {"times": times})


def _named(log: Log, starts: list[Start], warnings: Counter[str], problems: tuple[str, ...]) -> Iterator[Conclusion]:
    """Problems for which a line of its own is enough."""
    for problem in problems:
        ids = [name for name in PROBLEMS[problem] if warnings[name]]
        outranked = any(warnings[name] for name in PROBLEMS.get(_OUTRANKED.get(problem, ""), ()))
        if not ids or outranked:
            continue
        first = next(trouble for name, trouble in log.samples.items() if name in ids)
        values = {
            "times": sum(warnings[name] for name in ids),
            "starts": sum(any(start.warnings[name] for name in ids) for start in starts),
            "line": first.said,
            "model": log.start.architecture or "?",
        }
        if problem == "engine_dead":
            cause = next((start.cause for start in starts if any(start.warnings[name] for name in ids)), None)
            values["line"] = cause.said if cause else first.said
        yield Conclusion(problem, values)


def _mp_server(log: Log, warnings: Counter[str]) -> Iterator[Conclusion]:
    times = warnings["mp_degraded"] + warnings["mp_lookup_timeout"]
    if log.server_lost_at_s is not None or (times and not log.server_away_s):
        yield Conclusion("mp_server_gone", {"times": times})
    elif log.server_away_s:
        longest = max(log.server_away_s)
        away = f"{longest:.0f} s" if longest >= 0 else "?"
        yield Conclusion("mp_server_was_gone", {"times": len(log.server_away_s), "longest": away})


def _bad_pair(log: Log) -> Iterator[Conclusion]:
    """Of any start: what was stored then may be wrong too.

    LMCache names its version inside the engine only; a server's log does not say vLLM's.
    """
    mode = LMCacheMode.IN_PROCESS
    devices = {start.device for start in log.starts if start.vllm or start.lmcache}
    device = devices.pop() if len(devices) == 1 else ""  # of several, a connector's line does not say whose it is
    for start in reversed(log.starts):
        vllm, lmcache = (getattr(start, name) or log.installed.get(name, "") for name in ("vllm", "lmcache"))
        in_process = "LMCacheConnectorV1" in start.connectors or (lmcache and not start.connectors)
        pair = known_pair(mode, vllm, lmcache, device) if vllm and in_process else None
        if pair and not pair.works and (lmcache or start.tier_hits):
            values = {"vllm": vllm, "lmcache": lmcache or pair.lmcache_to, "mode": mode.value, "what": pair.what}
            yield Conclusion("known_bad_pair" if lmcache else "perhaps_bad_pair", values)
            return


def _unknown(starts: list[Start]) -> Conclusion | None:
    """The first error that no entry of warnings.toml knows, or a failed start whose errors only follow from it."""
    for start in starts:
        cause = start.cause
        unknown = [error for error in start.errors if not error.known]
        failed = (
            start.failed
            and start.known
            and cause is not None
            and (not cause.known or cause.id in PROBLEMS["start_failed"])
        )
        if failed and cause:
            alike = sum(other.failed and other.cause is not None and other.cause.id == cause.id for other in starts)
            return Conclusion("start_failed", {"line": cause.said, "starts": alike, "start": True})
        if unknown:
            first = next((error for error in unknown if error.exception), unknown[0])
            values = {
                "line": first.said,
                "more": len({error.id for error in unknown}) - 1,
                "start": False,
                "after": start.errors[0].known,
            }
            return Conclusion("unknown_error", values)
        if start.warnings["traceback"] and not start.errors:
            line = "Traceback (most recent call last)"
            return Conclusion("unknown_error", {"line": line, "more": 0, "start": False, "after": False})
    return None
