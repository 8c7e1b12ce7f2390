"""From what a log said to what is wrong: problems, most telling first, or what went well."""

from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from kvtiers.logs.findings.conclusion import Conclusion
from kvtiers.logs.findings.failures import failed_before, failures
from kvtiers.logs.findings.misses import misses
from kvtiers.logs.requests import Kind
from kvtiers.logs.scan import OTHERS
from kvtiers.logs.state import Log
from kvtiers.words import LANGUAGES

_LITTLE = 1.5
_FEW = 0.1
_ENOUGH_ASKED = 5


@dataclass(frozen=True)
class Diagnosis:
    """``problems`` is empty where all is well; ``conclusion`` is the first of them, or what went well.

    ``exit_status``: 0, 1 where there are problems, 2 where the log is another system's.
    """

    log: Log
    conclusion: Conclusion
    problems: tuple[Conclusion, ...]

    @property
    def exit_status(self) -> int:
        return 2 if self.conclusion.id == "not_ours" else int(bool(self.problems))

    @property
    def unseen(self) -> tuple[str, ...]:
        """What a verdict would like to rest on and this log does not show: ids of ``log.unseen``."""
        log, start = self.log, self.log.start
        server = start.mp and not start.known  # an LMCache server's own log names neither
        seen = {
            "vllm": bool(start.vllm or log.installed.get("vllm") or server),
            "lmcache": bool(start.lmcache or log.installed.get("lmcache") or start.connector == "OffloadingConnector"),
            "connector": bool(start.connectors or server),
            "tiers": bool(start.backends or start.disk_path or start.mp or log.metrics.series),
            "beginning": start.known or server,
            "requests": bool(start.kinds or start.mp or log.metrics.series),
        }
        return tuple(name for name, is_seen in seen.items() if not is_seen)


def conclude(log: Log) -> Diagnosis:
    """Judge a log: its latest start, and whatever failed in it."""
    system = _other_system(log)
    if system:
        return Diagnosis(log, Conclusion("not_ours", {**OTHERS[system]}), ())
    failed = tuple(failures(log))
    # Why they missed "can't be told" only where nothing failed.
    problems = (*failed, *(one for one in misses(log) if not (failed and one.id == "same_length_missed")))
    return Diagnosis(log, problems[0] if problems else _quiet(log), problems)


def with_their_servers(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """An engine in MP mode need not ask for its LMCache server's log where that was given with it."""
    if not any(each.log.start.server or each.log.start.mp for each in diagnoses):
        return diagnoses
    given = Conclusion("see_the_server")
    return [replace(each, conclusion=given) if each.conclusion.id == "ask_the_server" else each for each in diagnoses]


def _other_system(log: Log) -> str:
    """Whose log it is, if not ours: by lines that only it prints, or by the only connectors that vLLM loaded."""
    ours = bool(log.start.lmcache or log.kinds or log.start.settings or log.start.mp)
    loaded = {name for start in log.starts for name in start.connectors}
    for name, entry in OTHERS.items():
        by_lines = log.other_systems[name] and (entry.get("alone") or not (ours or loaded))
        if by_lines or (
            loaded and loaded <= {*entry["connectors"], "MultiConnector"} and loaded & {*entry["connectors"]}
        ):
            return name
    return ""


def _quiet(log: Log) -> Conclusion:
    """What the latest start shows; where earlier ones failed, that too."""
    good = _good(log)
    failed = failed_before(log)
    cause = failed[-1].cause if failed else None
    if not cause:
        return good
    now = {language: good.what(language) for language in LANGUAGES}
    return Conclusion("recovered", {"starts": len(failed), "line": cause.said, "now": now})


def _good(log: Log) -> Conclusion:
    start = log.start
    if log.not_read > start.requests + start.tokens["mp_lookups"] + start.tokens["mp_stores"]:
        return Conclusion("not_read", {"lines": log.not_read})
    if start.tokens["loaded"] + start.tokens["mp_loaded"]:
        return _loaded(log)
    if start.kinds[Kind.ENGINE_HIT]:
        return Conclusion("engine_only", {"requests": start.kinds[Kind.ENGINE_HIT], "held": start.tokens["computed"]})
    if start.tokens["mp_keys_found"]:
        return Conclusion("found_not_loaded", {"lookups": start.tokens["mp_lookups"]})
    asked = start.requests - start.kinds[Kind.UNPROVEN] + start.tokens["mp_lookups"]
    if asked or start.mp:
        return Conclusion("no_reuse" if asked > 1 else "one_request", {"requests": asked})
    return _without_requests(log)


def _loaded(log: Log) -> Conclusion:
    start, tokens = log.start, log.start.tokens
    loaded = tokens["loaded"] + tokens["mp_loaded"]
    lacked = tokens["total"] - tokens["computed"] + tokens["mp_loaded"] + tokens["mp_stored"]
    # MP mode's engine does not say how long a request was, and its server not what was computed and not stored.
    found = tokens["mp_keys_found"] / tokens["mp_keys_asked"] if tokens["mp_keys_asked"] else 1.0
    share = min(loaded / lacked if lacked > 0 else 1.0, found, 1.0)
    values: dict[str, Any] = {"requests": start.tier_hits, "tokens": loaded, "share": share, "asked": start.requests}
    if share < _FEW and start.requests + tokens["mp_stores"] + tokens["mp_lookups"] >= _ENOUGH_ASKED:
        return Conclusion("few_hits", values)
    gain = _typical_gain(log)
    if gain is None or log.ceiling is None or not start.tier_hits:
        return Conclusion("works_unmeasured", values)
    return Conclusion("little_gain" if gain < _LITTLE else "works", values | {"gain": gain, "ceiling": log.ceiling})


def _without_requests(log: Log) -> Conclusion:
    metrics, external = log.metrics, log.start.external_hit_rate
    if metrics.asked_tokens and (metrics.hit_tokens or not metrics.ever_read):
        share = metrics.hit_tokens / metrics.asked_tokens
        return Conclusion("counters", {"hit": metrics.hit_tokens, "asked": metrics.asked_tokens, "share": share})
    if external is not None:
        return Conclusion("rates_only", {"external": external})
    if metrics.ever_read:
        return Conclusion("counters_read", {"amount": metrics.ever_read})
    if metrics.series:
        return Conclusion("counters_idle")
    return Conclusion("ask_the_server" if log.start.connector.startswith("LMCacheMP") else "no_requests")


def _typical_gain(log: Log) -> float | None:
    """Of the last tier hits, the median of computed whole over loaded and the rest computed."""
    prefill = log.prefill_tokens_per_s
    if not prefill:
        return None
    gains = [
        (request.total / prefill)
        / (request.retrieve_s + (request.total - request.computed - request.retrieved) / prefill)
        for request in log.tier_hits
    ]
    return median(gains) if gains else None
