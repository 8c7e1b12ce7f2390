"""Warnings and errors of a log: what a line of one says. Those that are known are in warnings.toml."""

import re
from typing import Any

from kvtiers.logs.lines import strip_ansi
from kvtiers.tables import read_table

_TABLE = read_table("logs/warnings.toml")
WARNINGS: dict[str, str] = {name: entry["line"] for name, entry in _TABLE.items()}
"""Id -> what only its line says."""
IN_TRACEBACKS = tuple(name for name, entry in _TABLE.items() if entry.get("in_tracebacks"))
TRACEBACK = "Traceback (most recent call last)"
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
