"""Takes a log's lines, one by one, into a ``Log``. Unknown lines are passed over; no line raises.

Source: format strings of LMCache 0.3 to 0.5.6 and vLLM 0.32.0.
"""

import ast
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from kvtiers.doctor.log_files import LogBlocks
from kvtiers.doctor.log_scan import telling_lines
from kvtiers.doctor.log_state import Log, Request
from kvtiers.errors import KvtiersError
from kvtiers.log_lines import Lookup, Transfer, parse_lookup, parse_resume, parse_retrieved, parse_stored, strip_ansi

_TIME = re.compile(r"\d{4}-\d\d-\d\d (\d\d):(\d\d):(\d\d)[,.](\d{3})")
_VERSIONS = re.compile(
    r"LMCache initialized for role .*? with version (?P<lmcache>\S+?), vllm version (?P<vllm>[^\s,]+)"
)
_ENGINE = re.compile(r"LLM engine \(v(?P<vllm>[^)]+)\)")
_CONNECTOR = re.compile(r"Creating v1 connector with name: (?P<name>\S+)")
_SETTINGS = re.compile(r"(?:Creating LMCacheEngine with config|LMCache Configuration): (?P<settings>\{.*\})")
_BACKEND = re.compile(r"Created backend: (?P<name>\w+)")
_DISK = re.compile(r"Local disk cache path: (?P<path>\S+)")
_NONE_HASH = re.compile(r"NONE_HASH=(?P<hash>-?\w+)")
_POOL = re.compile(r"KV cache size: (?P<tokens>\d[\d,]{0,18}) tokens")
_RATES = re.compile(
    r"Prefix cache hit rate: (?P<own>\d{1,3}(?:\.\d+)?)%"
    r"(?:, External prefix cache hit rate: (?P<external>\d{1,3}(?:\.\d+)?)%)?"
)
_MP_PREFETCH = re.compile(r"Prefetch request completed \(L1\+L2\): (?P<found>\d{1,12})/(?P<asked>\d{1,12}) ")
_MP_MOVED = re.compile(
    r"(?P<what>Stored|Retrieved) (?P<tokens>\d{1,12}) tokens(?: in (?P<time>\d{1,9}(?:\.\d+)?) seconds)?"
)
_FAILED_REQUEST = re.compile(r"Request (?P<request>\S+?) ?(?:failed to load|The number of retrieved)")
_FAILING = re.compile(r"(?:Failing|Recovered from KV load failure:) (?P<requests>\d{1,12}) request")
_LEVEL = re.compile(r"\b(?:WARNING|ERROR)\b:?")
_MESSAGE = re.compile(
    r"LMCache (?:WARNING|ERROR): (.*?)(?: \([\w.]+\.py:\d+:[\w.]+\))?$|(?:WARNING|ERROR) [^\[]*\[[^\]]*\] (.*)$"
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?")

# id -> what only its line says; the words are in the texts
WARNINGS = {
    "no_connector_for_device": "No supported ",
    "init_failed": "LMCacheEngine marked as init failed",
    "init_components_failed": "Failed to initialize LMCacheManager components",
    "lookup_timeout": "recreating all sockets",
    "unhealthy": "LMCache is unhealthy",
    "unsupported_connector": "Unsupported connector type",
    "offloading_needs_gpu": "CPU Offloading is currently only supported",
    "staging_exhausted": "No eviction candidates found in local cpu backend",
    "allocation_failed": "Failed to allocate memory for tensor",
    "store_truncated": "Local cpu memory under pressure",
    "disk_chunk_too_large": "exceeding disk cache capacity",
    "disk_full": "Insufficient evictable disk cache space",
    "disk_pressure": "No eviction candidates found. Disk space",
    "file_lost": "File not found on disk",
    "chunk_load_failed": "Failed to load chunk from disk",
    "disk_load_memory": "Memory allocation failed during async disk load",
    "block_not_retrieved": "The cache block is in the storage, but",
    "fewer_retrieved": "number of retrieved tokens is less than",
    "blocks_failed": "failed to load ",
    "rolled_back": "rolled back from",
    "save_skipped": "Skipping KV save for request",
    "abort_without_engine": "Skipping abort-time backend cleanup",
    "hash_fallback": "Using builtin hash. ",
    "hash_without_seed": "Using builtin hash without PYTHONHASHSEED",
    "ranks_differ": "differ across (TP and PP) ranks",
    "async_lookup_slow": "still waiting for async lookup",
    "kv_load_failure": "due to KV load failure",
    "kv_load_recovered": "Recovered from KV load failure",
    "mp_bypass": "Bypassing LMCache for request",
    "mp_degraded": "LMCache server is unhealthy",
    "mp_lookup_timeout": "LOOKUP to ",
    "mp_keys_lost": "Some keys not found during retrieve",
    "mp_unregistered": "Rejecting STORE for unregistered",
    "mp_short_read": "Incomplete read for",
    "mp_unbounded": "will NOT bound disk usage",
    "mp_l2_evicting": "triggering eviction",
    "unknown_setting": "Unknown configuration key",
    "setting_unread": "Failed to parse ",
    "remote_deprecated": "remote_url is deprecated",
    "abort_crash": "assert self.lmcache_engine is not None",
    "engine_dead": "EngineDeadError",
    "import_failed": "ModuleNotFoundError",
    "import_name": "ImportError",
}
_WARNING_OF = {phrase: name for name, phrase in WARNINGS.items()}
_WARNING_PHRASE = re.compile("|".join(map(re.escape, sorted(_WARNING_OF, key=len, reverse=True))))
# Said at every healthy start.
_HARMLESS = ("No LMCache configuration file is set", "You can set the configuration file", "Controller message sender")


def read_log(stream: BinaryIO, name: str, keep: int = 1000) -> tuple[Log, bool]:
    """The whole log.

    Args:
        stream: bytes, gzip or not.
        name: what to call it in messages.
        keep: how many of the last requests to keep in detail.

    Returns:
        the log, and whether its gzip file was cut off.

    Raises:
        KvtiersError: empty, binary, or without a line of vLLM or LMCache.
    """
    reader = LogReader(keep)
    blocks = LogBlocks(stream, name)
    for number, block in enumerate(blocks):
        # The head is read whole: a short paste may hold messages without their prefixes.
        lines = block.decode("utf-8", "replace").split("\n") if number == 0 else telling_lines(block)
        reader.feed_all(lines)
    return reader.finish(name), blocks.cut_off


def read_log_text(text: str, keep: int = 1000) -> Log:
    """A pasted log; as ``read_log``."""
    reader = LogReader(keep)
    reader.feed_all(text.splitlines())
    return reader.finish("the text")


def read_log_file(path: Path, keep: int = 1000) -> tuple[Log, bool]:
    """A file; as ``read_log``."""
    try:
        with path.open("rb") as stream:
            return read_log(stream, str(path), keep)
    except OSError as error:
        raise KvtiersError(f"cannot read {path}: {error.strerror or error}") from None


class LogReader:
    """Feeds lines into ``log``."""

    def __init__(self, keep: int) -> None:
        self.log = Log(keep)
        self._last_settings: tuple[str, dict[str, Any]] = ("", {})

    def feed_all(self, lines: Iterable[str]) -> None:
        """Take all lines, in order."""
        for line in lines:
            self.feed(line)

    def finish(self, name: str) -> Log:
        """The log, every request judged.

        Raises:
            KvtiersError: when nothing in it was said by vLLM or LMCache.
        """
        self.log.flush()
        if not self.log.lines:
            raise KvtiersError(f"{name} holds no line of vLLM or LMCache that says anything about KV")
        return self.log

    def feed(self, line: str) -> None:
        """Take one line."""
        if "Reqid: " in line:
            known = self._lookup(parse_lookup(line), line)
        elif "Stored " in line or "Retrieved " in line:
            known = self._moved(line)
        elif "WARNING" in line or "ERROR" in line or "Error" in line or "assert self" in line:
            known = self._warning(line)
            known |= self._start_line(line)
        else:
            known = self._start_line(line)
        self.log.lines += known

    def _lookup(self, lookup: Lookup | None, line: str) -> bool:
        if lookup is None:
            return "Total tokens" in line or "LMCache hit tokens: None" in line
        self.log.request(
            Request(
                lookup.request_id,
                lookup.total,
                lookup.computed,
                lookup.hit,
                lookup.need_to_load,
                at_s=_seconds(line),
                skipped=lookup.skipped,
            )
        )
        return True

    def _moved(self, line: str) -> bool:
        stored = parse_stored(line)
        if stored:
            self._stored(stored, line)
            return True
        retrieved = parse_retrieved(line)
        if retrieved:
            self._retrieved(retrieved)
            return True
        return self._moved_by_server(line)

    def _stored(self, stored: Transfer, line: str) -> None:
        log = self.log
        log.stored_gib += stored.gib
        request = log.pending(stored.request_id)
        if request is None:
            return
        request.stored += stored.tokens
        if request.at_s >= 0 and not request.prefill_s:
            request.prefill_s = max(_seconds(line) - request.at_s, 0.0)
        log.stored(request.total)

    def _retrieved(self, retrieved: Transfer) -> None:
        log = self.log
        log.retrieved_gib += retrieved.gib
        log.retrieve_s += retrieved.cost_s
        request = log.pending(retrieved.request_id)
        if request is not None:
            request.retrieved += retrieved.tokens
            request.required += retrieved.required
            request.retrieve_s += retrieved.cost_s

    def _moved_by_server(self, line: str) -> bool:
        """MP mode's server: tokens and seconds, no request."""
        match = _MP_MOVED.search(line)
        if not match or not match["time"]:
            return match is not None
        what = "mp_stored" if match["what"] == "Stored" else "mp_loaded"
        self.log.tokens[what] += int(match["tokens"])
        seconds = float(match["time"])
        if what == "mp_loaded" and seconds > 0:
            self.log.load_rates.append(int(match["tokens"]) / seconds)
        return True

    def _warning(self, line: str) -> bool:
        log = self.log
        phrase = _WARNING_PHRASE.search(line)
        if phrase:
            log.warn(_WARNING_OF[phrase[0]], line)
            failed = _FAILED_REQUEST.search(line)
            request = log.pending(failed["request"]) if failed else None
            if request:
                request.failed = True
            failing = _FAILING.search(line)
            if failing:
                log.tokens["requests_with_load_failure"] += int(failing["requests"])
            return True
        if "LMCache" not in line:
            return False
        text = strip_ansi(line).strip()
        if not _LEVEL.search(text) or any(phrase in text for phrase in _HARMLESS):
            return False
        match = _MESSAGE.search(text)
        if match:
            log.warn("other: " + _NUMBERS.sub("#", (match[1] or match[2] or ""))[:120], text)
        return True

    def _start_line(self, line: str) -> bool:
        phrase = _START_PHRASE.search(line)
        if not phrase:
            return False
        pattern, take = _START_LINES[phrase[0]]
        match = pattern.search(line)
        if match:
            take(self, match)
        return match is not None

    def _engine(self, match: re.Match[str]) -> None:
        self.log.begin(match["vllm"])

    def _connector(self, match: re.Match[str]) -> None:
        self.log.start.connector = match["name"]

    def _versions(self, match: re.Match[str]) -> None:
        start = self.log.start
        start.lmcache, start.vllm = match["lmcache"], start.vllm or match["vllm"]

    def _settings(self, match: re.Match[str]) -> None:
        text = match["settings"]
        if text != self._last_settings[0]:
            self._last_settings = (text, _literal(text))
        self.log.start.settings = self._last_settings[1]

    def _backend(self, match: re.Match[str]) -> None:
        self.log.start.backends.add(match["name"])

    def _disk(self, match: re.Match[str]) -> None:
        self.log.start.disk_path = match["path"]

    def _none_hash(self, match: re.Match[str]) -> None:
        self.log.start.none_hashes.add(match["hash"])

    def _pool(self, match: re.Match[str]) -> None:
        self.log.start.pool_tokens = int(match["tokens"].replace(",", ""))

    def _rates(self, match: re.Match[str]) -> None:
        self.log.own_hit_rate = float(match["own"])
        if match["external"] is not None:
            self.log.external_hit_rate = float(match["external"])

    def _prefetch(self, match: re.Match[str]) -> None:
        self.log.tokens.update(mp_lookups=1, mp_keys_found=int(match["found"]), mp_keys_asked=int(match["asked"]))

    def _resume(self, match: re.Match[str]) -> None:
        self._lookup(parse_resume(match.string), match.string)


# phrase -> the pattern of its lines, what to do
_START_LINES: dict[str, tuple[re.Pattern[str], Callable[[LogReader, re.Match[str]], None]]] = {
    "Prefix cache hit rate": (_RATES, LogReader._rates),
    "Creating v1 connector": (_CONNECTOR, LogReader._connector),
    "LMCacheEngine with config": (_SETTINGS, LogReader._settings),
    "LMCache Configuration": (_SETTINGS, LogReader._settings),
    "LLM engine (v": (_ENGINE, LogReader._engine),
    "LMCache initialized": (_VERSIONS, LogReader._versions),
    "Created backend": (_BACKEND, LogReader._backend),
    "Local disk cache path": (_DISK, LogReader._disk),
    "NONE_HASH=": (_NONE_HASH, LogReader._none_hash),
    "KV cache size": (_POOL, LogReader._pool),
    "Prefetch request completed": (_MP_PREFETCH, LogReader._prefetch),
    "<resume-load>": (re.compile("<resume-load>"), LogReader._resume),
}
# The phrase stands near the beginning of a line; what follows can be thousands of characters of settings.
_START_PHRASE = re.compile("|".join(map(re.escape, _START_LINES)))


def _seconds(line: str) -> float:
    """Time of day in seconds; -1 where the line does not say it. LMCache's own stamp is the last in the line."""
    match = _TIME.search(line)
    if not match:
        return -1.0
    hours, minutes, seconds, milliseconds = map(int, match.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def _literal(text: str) -> dict[str, Any]:
    """LMCache prints its settings as a Python dict; ``inf`` is no literal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged line is not ours to be warned of
            found = ast.literal_eval(re.sub(r"(?<=: )inf\b", "None", text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
