"""From a block of a log to what it says: events, plain tuples of a name and values.

What a log's lines add up to is not known here. Each message is found by words that only it has, whatever stands before
it in its line. Blocks are read as Latin-1, which decodes at the speed of a copy; text that is kept is read as UTF-8.

Source: format strings of LMCache 0.3 to 0.5.6 and vLLM 0.32.0; for other systems see others.toml.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from kvtiers.logs.lines import LOOKUP, RETRIEVED, STORED, lookup_values, retrieved_values, stored_values
from kvtiers.logs.settings import settings_of
from kvtiers.logs.warnings import read_warning
from kvtiers.tables import read_table

Event = tuple[Any, ...]
Match = re.Match[str]

OTHERS = read_table("logs/others.toml")
"""Systems whose logs are not judged here: what only their lines say, their connectors, a hint."""
# Name -> the words by which its line is found (the longer, the faster), and the message itself.
SAID: dict[str, tuple[str, str]] = {
    "looked_up": ("Reqid: ", LOOKUP),
    "looked_up_not_read": ("Reqid: ", r"Reqid: [^\s,]+, Total tokens (?!\d{1,12}, .*need to load: )"),
    "was_stored": (" out of ", STORED),
    "was_loaded": (" out of ", RETRIEVED),
    "mp_was_stored": (" tokens in ", r"Stored (?P<tokens>\d{1,12}) tokens in \d"),
    "mp_was_loaded": (
        " tokens in ",
        r"Retrieved (?P<tokens>\d{1,12}) tokens in (?P<s>\d{1,9}(?:\.\d+)?) seconds",
    ),
    "mp_prefetch": (
        "Prefetch request completed (L1+L2): ",
        r"\(L1\+L2\): (?P<found>\d{1,12})/(?P<asked>\d{1,12}) ",
    ),
    "mp_resume": (
        "<resume-load> req=",
        r"req=(?P<request>\S+) apc=(?P<computed>\d{1,12}) lmcache=(?P<hit>\d{1,12}) load=(?P<load>\d{1,12})",
    ),
    "mp_registered": ("egistered ", r"Registered (?:KV cache for GPU ID|non-GPU context for instance) (?P<id>-?\d+)"),
    "mp_unregistered": (
        "egistered ",
        r"Unregistered (?:KV cache for GPU ID|non-CUDA context for instance ID) (?P<id>-?\d+)",
    ),
    "mp_workers": ("Created AffinityThreadPool ", r"with (?P<slots>\d{1,6}) worker slots"),
    "mp_server": ("LMCache cache server is running", ""),
    "mp_healthy": ("LMCache server is healthy again", ""),
    "no_config_file": ("No LMCache configuration file is set", ""),
    "settings": ("LMCacheEngine with config: {", r"config: (?P<dict>\{.*?\})(?=[\s\\]|$)"),
    "old_settings": ("LMCache Configuration: {", r"Configuration: (?P<dict>\{.*?\})(?=[\s\\]|$)"),
    "versions": (
        "LMCache initialized for role ",
        r"role .{0,200}? with version (?P<lmcache>[^\s,]+), vllm version (?P<vllm>[^\s,]+)",
    ),
    "backend": ("Created backend: ", r"Created backend: (?P<name>\w+)"),
    "disk": ("Local disk cache path: ", r"path: (?P<path>\S+)"),
    "none_hash": ("Initialized NONE_HASH=", r"NONE_HASH=(?P<hash>-?\w+)"),
    "installed": ("Successfully installed ", r"Successfully installed (?P<packages>.*)"),
    "banner": (" version ", r"(?:\[\w+\.py:\d+\].*  |server )version (?P<vllm>\d[\w.+]*)"),
    "engine": (
        "Initializing a V1 LLM engine (v",
        r"engine \(v(?P<vllm>[^)\s]+)\)(?:.*? device_config=(?P<device>\w+))?"
        r"(?:.*? enable_prefix_caching=(?P<prefix>\w+))?",
    ),
    "connector": ("Creating v1 connector with name: ", r"name: (?P<name>\w+)"),
    "pool": ("KV cache size: ", r"size: (?P<tokens>\d[\d,]{0,18}) tokens"),
    "ready": ("Application startup complete", ""),
    "stopping": ("[shutdown] API server: shutdown triggered", ""),
    "stopping_web": ("INFO:     Shutting down", ""),
    "architecture": ("Resolved architecture: ", r"architecture: (?P<name>\w+)"),
    "rates": (
        "Prefix cache hit rate: ",
        r"Prefix cache hit rate: (?P<own>\d{1,3}(?:\.\d+)?)%"
        r"(?:, External prefix cache hit rate: (?P<external>\d{1,3}(?:\.\d+)?)%)?",
    ),
    "transfers": ("KV Transfer metrics: ", r"metrics: (?P<values>.*)"),
    "metric": (
        "_total{",
        r"(?:^|\s)(?P<name>(?:vllm:|lmcache:|lmcache_mp_)\w+)(?P<labels>\{.*\})? (?P<value>[\d.eE+-]+)(?: \d+)?$",
    ),
} | {f"of_{name}_{number}": (line, "") for name, entry in OTHERS.items() for number, line in enumerate(entry["lines"])}
_TROUBLE = (
    *("ERROR", "LMCache WARNING", "KV load failure", "Error", "Exception"),
    *("Traceback (most recent call last)", "assert self.lmcache_engine", "_madvise_populate_write"),
    *("Fatal Python error", "terminate called after", "core dumped", "Killed", "exited with code 137"),
    *("triggering eviction", '" 500 Internal Server Error'),
)
# Logs in JSON name the level in a field of its own.
_LEVEL_FIELDS = ('"level', '"severity"', '"lvl"')
_TROUBLE_IN_JSON = ('"error"', '"warning"', '"warn"', '"WARNING"', '"WARN"', '"critical"', '"fatal"')
_PATTERNS = {name: re.compile(pattern) for name, (_, pattern) in SAID.items()}
_BY_WORDS: dict[str, list[str]] = {}
for _name, (_words, _) in SAID.items():
    _BY_WORDS.setdefault(_words, []).append(_name)
_PROCESS = re.compile(
    r"(?:(?P<container>[\w./-]+)\s+\| ?|\[pod/(?P<pod>[^\]]+)\] )?"
    r".{0,80}?\((?P<role>\w+)[^()]{0,20} pid=(?P<pid>\d+)[^()]{0,40}\)"
)
_CONTAINER = re.compile(r"(?P<container>[\w./-]+)\s+\| ?|\[pod/(?P<pod>[^\]]+)\] ")
_STAMP_CHARACTERS = 64


def events_of(block: bytes) -> list[Event]:
    """What the lines of ``block`` say, in order, without a look at each line."""
    text = block.decode("latin-1")
    said: dict[int, Event] = {}
    for words, names in _BY_WORDS.items():
        for start, end in _lines_with(text, words):
            for name in () if start in said else names:
                # Lines are matched by themselves: ^ and $ are their ends.
                match = _PATTERNS[name].search(text[start:end].rstrip("\r"))
                if match:
                    said[start] = _READ[name](match)
                    break
    in_json = any(field in text for field in _LEVEL_FIELDS)
    for words in (*_TROUBLE, *_TROUBLE_IN_JSON) if in_json else _TROUBLE:
        for start, end in _lines_with(text, words):
            if start not in said:
                event = _trouble(text[start:end])
                if event:
                    said[start] = event
    events: list[Event] = []
    for start in sorted(said):
        process = _process(text[start : start + 200])
        if process:
            events.append(process)
        events.append(said[start])
    return events


def _lines_with(text: str, words: str) -> Iterator[tuple[int, int]]:
    at = text.find(words)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text.rfind("\n", 0, at) + 1, end
        at = text.find(words, end)


def _process(line: str) -> Event | None:
    """Whose line it is: a container's name where one stands before it, and a process's role and number."""
    line = line.partition("\n")[0]
    match = _PROCESS.match(line) or _CONTAINER.match(line)
    if not match:
        return None
    parts = match.groupdict()
    return "process", parts["container"] or parts["pod"] or "", parts.get("role") or "", parts.get("pid") or ""


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def _seconds(text: str, at: int) -> float:
    """Time of day in seconds, from LMCache's own stamp before the message; -1 where there is none."""
    end = text.rfind("] LMCache ", max(at - _STAMP_CHARACTERS, 0), at + len("LMCache "))
    stamp = text[end - len("12:34:56,789") : end]
    try:
        return int(stamp[:2]) * 3600 + int(stamp[3:5]) * 60 + int(stamp[6:8]) + int(stamp[9:]) / 1000
    except ValueError:
        return -1.0


def _time_of(match: Match) -> float:
    return _seconds(match.string, match.start())


def _trouble(line: str) -> Event | None:
    line = _utf8(line)
    trouble = read_warning(line)
    if trouble:
        at = line.find("] LMCache ")
        return "warning", trouble, _seconds(line, at + 2) if at >= 0 else -1.0
    return ("traceback",) if "Traceback (most" in line and " INFO" not in line else None


def _lookup(match: Match) -> Event:
    request, *counts = lookup_values(match)
    return "lookup", _utf8(request), *counts, _time_of(match)


def _store(match: Match) -> Event:
    request, tokens, _, gib, _ = stored_values(match)
    return "stored", _time_of(match), _utf8(request), tokens, gib


def _load(match: Match) -> Event:
    request, *values = retrieved_values(match)
    return "retrieved", _utf8(request), *values


def _mp_resume(match: Match) -> Event:
    computed, hit, load = (int(match[name]) for name in ("computed", "hit", "load"))
    return "lookup", _utf8(match["request"]), 0, computed, hit, load, False, _time_of(match)


def _rates(match: Match) -> Event:
    external = match["external"]
    return "rates", float(match["own"]), None if external is None else float(external)


def _metric(match: Match) -> Event:
    try:
        return "metric", match["name"], match["labels"] or "", float(match["value"])
    except ValueError:
        return ("looked_up_not_read",)


def _being_there(*event: str) -> Callable[[Match], Event]:
    """For a line that says what it says by being there."""
    return lambda match: event


_READ: dict[str, Callable[[Match], Event]] = (
    {name: _being_there(name) for name in SAID}
    | {
        "looked_up": _lookup,
        "was_stored": _store,
        "was_loaded": _load,
        "mp_was_stored": lambda match: ("mp_stored", int(match["tokens"])),
        "mp_was_loaded": lambda match: ("mp_loaded", int(match["tokens"]), float(match["s"])),
        "mp_prefetch": lambda match: ("mp_prefetch", int(match["found"]), int(match["asked"])),
        "mp_resume": _mp_resume,
        "mp_registered": lambda match: ("mp_registered", match["id"]),
        "mp_unregistered": lambda match: ("mp_unregistered", match["id"]),
        "mp_workers": lambda match: ("mp_workers", int(match["slots"])),
        "mp_healthy": lambda match: ("mp_healthy", _seconds(match.string, match.string.find("] LMCache ") + 2)),
        "settings": lambda match: ("settings", settings_of(_utf8(match["dict"]))),
        "old_settings": lambda match: ("settings", settings_of(_utf8(match["dict"]))),
        "versions": lambda match: ("versions", match["lmcache"], match["vllm"]),
        "backend": lambda match: ("backend", match["name"]),
        "disk": lambda match: ("disk", _utf8(match["path"])),
        "none_hash": lambda match: ("none_hash", match["hash"]),
        "installed": lambda match: ("installed", dict(re.findall(r"\b(vllm|lmcache)-(\d[\w.]*)", match["packages"]))),
        "banner": lambda match: ("banner", match["vllm"]),
        "engine": lambda match: ("engine", match["vllm"], match["device"] or "", match["prefix"] or ""),
        "connector": lambda match: ("connector", match["name"]),
        "pool": lambda match: ("pool", int(match["tokens"].replace(",", ""))),
        "stopping_web": _being_there("stopping"),
        "architecture": lambda match: ("architecture", match["name"]),
        "rates": _rates,
        "transfers": lambda match: ("transfers", match["values"]),
        "metric": _metric,
    }
    | {
        f"of_{name}_{number}": _being_there("other_system", name)
        for name, entry in OTHERS.items()
        for number in range(len(entry["lines"]))
    }
)
