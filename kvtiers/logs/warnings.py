"""Warnings and errors of a log: which are known, and what a line of one says.

Source: format strings of LMCache 0.3 to 0.5.6 and vLLM 0.32.0.
"""

import re
from typing import Any

from kvtiers.logs.lines import strip_ansi

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
    "mp_no_handler": "No handler registered for operation",
    "mp_keys_lost": "Some keys not found during retrieve",
    "mp_unregistered": "Rejecting STORE for unregistered",
    "mp_short_read": "Incomplete read for",
    "mp_unbounded": "will NOT bound disk usage",
    "mp_evicting": "triggering eviction",
    "unknown_setting": "Unknown configuration key",
    "setting_unread": "Failed to parse ",
    "remote_deprecated": "remote_url is deprecated",
    "abort_crash": "assert self.lmcache_engine is not None",
    "engine_dead": "EngineDeadError",
    "import_failed": "ModuleNotFoundError",
    "import_name": "ImportError",
}
# Of these, what comes without LMCache's own level before it: Python's and vLLM's.
TRACEBACK = "Traceback (most recent call last)"
IN_TRACEBACKS = (
    "no_connector_for_device",
    "unsupported_connector",
    "offloading_needs_gpu",
    "abort_crash",
    "engine_dead",
    "import_failed",
    "import_name",
)
KV_LOAD = "KV load failure"
_ID_OF = {phrase: name for name, phrase in WARNINGS.items()}
_PHRASE = re.compile("|".join(map(re.escape, sorted(_ID_OF, key=len, reverse=True))))
_FAILED_REQUEST = re.compile(r"Request (?P<request>\S+?) ?(?:failed to load|The number of retrieved)")
_FAILING = re.compile(r"(?:Failing|Recovered from KV load failure:) (?P<requests>\d{1,12}) request")
_LEVEL = re.compile(r"\b(?:WARNING|ERROR)\b:?")
_MESSAGE = re.compile(
    r"LMCache (?:WARNING|ERROR): (.*?)(?: \([\w.]+\.py:\d+:[\w.]+\))?$|(?:WARNING|ERROR) [^\[]*\[[^\]]*\] (.*)$"
)
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?")
# Said at every healthy start, or said again of the line before.
_HARMLESS = (
    "No LMCache configuration file is set",
    "You can set the configuration file",
    "Controller message sender",
    "LazyMemoryAllocator requires memory pinning",
    "Num retrieved tokens: ",
)
_LONGEST = 2000


def read_warning(line: str) -> tuple[Any, ...] | None:
    """``("warning", id, line, request, requests)``; None for a line that warns of nothing about KV.

    ``id`` is one of WARNINGS, or ``other: `` and the message without its numbers; ``request``: whose load failed, or
    empty; ``requests``: how many vLLM counted as failed.
    """
    if any(phrase in line for phrase in _HARMLESS):
        return None
    line = strip_ansi(line[:_LONGEST]).strip()
    phrase = _PHRASE.search(line)
    if phrase:
        failed, failing = _FAILED_REQUEST.search(line), _FAILING.search(line)
        return (
            "warning",
            _ID_OF[phrase[0]],
            line,
            failed["request"] if failed else "",
            int(failing["requests"]) if failing else 0,
        )
    if "LMCache" not in line or not _LEVEL.search(line):
        return None
    match = _MESSAGE.search(line)
    if not match:
        return None
    return "warning", "other: " + _NUMBERS.sub("#", match[1] or match[2] or "")[:120], line, "", 0
