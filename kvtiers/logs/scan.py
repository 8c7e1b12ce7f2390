"""From a block of a log to what it says: events, plain tuples of a name and values.

What a log's lines add up to is not known here. Blocks are read as Latin-1, which decodes at the speed of a copy; text
that is kept is read again as UTF-8.

Source: format strings of LMCache 0.3 to 0.5.6 and vLLM 0.32.0.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import Any

from kvtiers.logs.lines import LOOKUP, RETRIEVED, STORED, lookup_values, retrieved_values, stored_values
from kvtiers.logs.warnings import IN_TRACEBACKS, KV_LOAD, TRACEBACK, WARNINGS, read_warning

Event = tuple[Any, ...]
# Of LMCache's settings in force, the ones a reader is shown.
SETTINGS = (
    "chunk_size",
    "local_cpu",
    "max_local_cpu_size",
    "local_disk",
    "max_local_disk_size",
    "remote_storage_plugins",
    "pre_caching_hash_algorithm",
)

# What LMCache says at its levels INFO and DEBUG. The rest (a module found, a thread started) is passed over. Each
# pattern begins with a letter of its own, no group: the search then skips to such letters.
_LMCACHE = {
    "looked_up": LOOKUP,
    "looked_up_otherwise": r"Reqid: [^\s,]+, (?:Total tokens|LMCache hit tokens: None)",
    "was_stored": STORED,
    "was_loaded": RETRIEVED,
    "mp_was_stored": r"Stored (?P<mp_stored>\d{1,12}) tokens in ",
    "mp_was_loaded": r"Retrieved (?P<mp_loaded>\d{1,12}) tokens in (?P<mp_s>\d{1,9}(?:\.\d+)?) seconds",
    "mp_prefetch": r"Prefetch request completed \(L1\+L2\): (?P<found>\d{1,12})/(?P<asked>\d{1,12}) ",
    "mp_resume": r"<resume-load> req=(?P<mp_request>\S+) apc=(?P<mp_computed>\d{1,12}) lmcache=(?P<mp_hit>\d{1,12}) "
    r"load=(?P<mp_load_tokens>\d{1,12})",
    "mp_evicting": r"L[12] (?:memory )?usage [\d.]+ above watermark [\d.]+; triggering eviction",
    "settings": r"Creating LMCacheEngine with config: (?P<dict>\{.*?\})(?=[\s\\]|$)",
    "old_settings": r"LMCache Configuration: (?P<old_dict>\{.*?\})(?=[\s\\]|$)",
    "versions": r"LMCache initialized for role .{0,200}? with version (?P<lmcache>[^\s,]+), "
    r"vllm version (?P<vllm>[^\s,]+)",
    "backend": r"Created backend: (?P<backend_name>\w+)",
    "disk": r"Local disk cache path: (?P<path>\S+)",
    "none_hash": r"Initialized NONE_HASH=(?P<hash>-?\w+)",
}
# What vLLM says: the words by which its line is found (the longer, the faster), and what follows them.
VLLM = {
    "engine": (
        "Initializing a V1 LLM engine (v",
        r"(?P<engine_version>[^)\s]+)\)(?:.*? device_config=(?P<device>\w+))?",
    ),
    "connector": ("Creating v1 connector with name: ", r"(?P<connector_name>\S+)"),
    "pool": ("KV cache size: ", r"(?P<pool_tokens>\d[\d,]{0,18}) tokens"),
    "ready": ("Application startup complete", ""),
    "stopping": ("[shutdown] API server: shutdown triggered", ""),
    "rates": (
        "Prefix cache hit rate: ",
        r"(?P<own>\d{1,3}(?:\.\d+)?)%(?:, External prefix cache hit rate: (?P<external>\d{1,3}(?:\.\d+)?)%)?",
    ),
}
_VLLM = {name: re.escape(words) + rest for name, (words, rest) in VLLM.items()}
_TROUBLE = ("WARNING", "ERROR", "Error", "Exception:", "assert self")


def _any_of(patterns: dict[str, str]) -> str:
    """A pattern whose matches' ``lastgroup`` is the name of the one that matched."""
    return "|".join(f"(?:{pattern})(?P<{name}>)" for name, pattern in patterns.items())


_BEHIND_ITS_LEVEL = re.compile(
    rf"LMCache (?:(?:INFO|DEBUG):\S{{0,12}} (?:\[req_id=\S* )?(?:{_any_of(_LMCACHE)})|(?:WARNING|ERROR):(?P<trouble>))"
)
_ANYWHERE = re.compile(_any_of(_LMCACHE | _VLLM | {"trouble": "|".join(_TROUBLE)}))
_OF_VLLM = {name: re.compile(_any_of({name: pattern})) for name, pattern in _VLLM.items()}
_IN_TRACEBACKS = tuple(WARNINGS[name] for name in IN_TRACEBACKS)
_STAMP_CHARACTERS = 64
_KEPT_SETTINGS = 16


class Scanner:
    """Reads blocks of one log, in order. All it remembers is whether a traceback may go on into the next block."""

    def __init__(self) -> None:
        self._in_traceback = True

    def events(self, block: bytes) -> list[Event]:
        """What the lines of ``block`` say, without a look at each line."""
        text = block.decode("latin-1")
        placed = []
        end = 0
        for match in _BEHIND_ITS_LEVEL.finditer(text):
            name = match.lastgroup or ""
            if name == "trouble":
                if match.start() < end:
                    continue
                end = _end_of_line(text, match.start())
            placed.append((match.start(), _READ[name](match)))
        others = [*_lines_of_vllm(text), *self._trouble_of_others(text)]
        if others:
            placed += others
            placed.sort(key=itemgetter(0))
        return [event for _, event in placed if event]

    def _trouble_of_others(self, text: str) -> Iterator[tuple[int, Event | None]]:
        """Errors of vLLM and Python, by line."""
        traceback = TRACEBACK in text
        lines = dict(_lines_with(text, KV_LOAD))
        for words in _IN_TRACEBACKS if traceback or self._in_traceback else ():
            lines |= _lines_with(text, words)
        self._in_traceback = traceback
        for start, end in lines.items():
            if not _BEHIND_ITS_LEVEL.search(text, start, end):
                yield start, read_warning(_utf8(text[start:end]))


def _lines_of_vllm(text: str) -> Iterator[tuple[int, Event | None]]:
    for name, (words, _) in VLLM.items():
        for start, end in _lines_with(text, words):
            match = _OF_VLLM[name].search(text, start, end)
            if match:
                yield start, _READ[name](match)


def _lines_with(text: str, words: str) -> Iterator[tuple[int, int]]:
    at = text.find(words)
    while at >= 0:
        end = _end_of_line(text, at)
        yield text.rfind("\n", 0, at) + 1, end
        at = text.find(words, end)


def events_of_lines(text: str) -> list[Event]:
    """What each line says, wherever in the line it stands: a paste may hold messages without their prefixes."""
    matches = (_ANYWHERE.search(line) for line in text.encode("utf-8", "replace").decode("latin-1").split("\n"))
    events = (_READ[match.lastgroup or ""](match) for match in matches if match)
    return [event for event in events if event]


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def _seconds(match: re.Match[str]) -> float:
    """Time of day in seconds, from LMCache's own stamp before the message; -1 where there is none."""
    text, at = match.string, match.start()
    end = text.rfind("] LMCache ", max(at - _STAMP_CHARACTERS, 0), at + len("LMCache "))
    stamp = text[end - len("12:34:56,789") : end]
    try:
        return int(stamp[:2]) * 3600 + int(stamp[3:5]) * 60 + int(stamp[6:8]) + int(stamp[9:]) / 1000
    except ValueError:
        return -1.0


def _lookup(match: re.Match[str]) -> Event:
    request, *counts = lookup_values(match)
    return "lookup", _utf8(request), *counts, _seconds(match)


def _store(match: re.Match[str]) -> Event:
    request, tokens, _, gib, _ = stored_values(match)
    return "stored", _seconds(match), _utf8(request), tokens, gib


def _load(match: re.Match[str]) -> Event:
    request, *values = retrieved_values(match)
    return "retrieved", _utf8(request), *values


def _mp_resume(match: re.Match[str]) -> Event:
    computed, hit, load = (int(match[name]) for name in ("mp_computed", "mp_hit", "mp_load_tokens"))
    return "lookup", _utf8(match["mp_request"]), 0, computed, hit, load, False, _seconds(match)


def _trouble(match: re.Match[str]) -> Event | None:
    text, at = match.string, match.start()
    return read_warning(_utf8(text[text.rfind("\n", 0, at) + 1 : _end_of_line(text, at)]))


def _rates(match: re.Match[str]) -> Event:
    external = match["external"]
    return "rates", float(match["own"]), None if external is None else float(external)


@lru_cache(_KEPT_SETTINGS)
def settings_of(text: str) -> dict[str, Any]:
    """LMCache prints its settings as a Python dict; ``inf`` is no literal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged line is not ours to be warned of
            printed = ast.literal_eval(re.sub(r"(?<=: )inf\b", "None", _utf8(text)))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    if not isinstance(printed, dict):
        return {}
    return {name: printed[name] for name in SETTINGS if name in printed and _is_setting(name, printed[name])}


def _is_setting(name: str, value: Any) -> bool:
    """Is it of a kind that LMCache prints? A damaged line may hold any literal."""
    if name == "chunk_size":
        return isinstance(value, int)
    return all(isinstance(one, (str, int, float, NoneType)) for one in (value if isinstance(value, list) else [value]))


_READ: dict[str, Callable[[re.Match[str]], Event | None]] = {
    "looked_up": _lookup,
    "looked_up_otherwise": lambda match: ("other",),
    "was_stored": _store,
    "was_loaded": _load,
    "mp_was_stored": lambda match: ("mp_stored", int(match["mp_stored"])),
    "mp_was_loaded": lambda match: ("mp_loaded", int(match["mp_loaded"]), float(match["mp_s"])),
    "mp_prefetch": lambda match: ("mp_prefetch", int(match["found"]), int(match["asked"])),
    "mp_resume": _mp_resume,
    "settings": lambda match: ("settings", settings_of(match["dict"])),
    "old_settings": lambda match: ("settings", settings_of(match["old_dict"])),
    "versions": lambda match: ("versions", match["lmcache"], match["vllm"]),
    "backend": lambda match: ("backend", match["backend_name"]),
    "disk": lambda match: ("disk", _utf8(match["path"])),
    "none_hash": lambda match: ("none_hash", match["hash"]),
    "engine": lambda match: ("engine", match["engine_version"], match["device"] or ""),
    "connector": lambda match: ("connector", match["connector_name"]),
    "pool": lambda match: ("pool", int(match["pool_tokens"].replace(",", ""))),
    "ready": lambda match: ("ready",),
    "stopping": lambda match: ("stopping",),
    "rates": _rates,
    "mp_evicting": _trouble,
    "trouble": _trouble,
}
