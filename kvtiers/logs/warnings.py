"""Warnings and errors of a log: what a line of one says. Those that are known are in warnings.toml."""

import re
from typing import NamedTuple

from kvtiers.logs.lines import strip_ansi
from kvtiers.tables import read_table

_TABLE = read_table("logs/warnings.toml")
WARNINGS: dict[str, str] = {name: entry["line"] for name, entry in _TABLE.items()}
"""Id -> what only its line says."""
PROBLEMS: dict[str, list[str]] = {}
"""Conclusion -> the ids whose line alone is enough for it."""
for _name, _entry in _TABLE.items():
    if "problem" in _entry:
        PROBLEMS.setdefault(_entry["problem"], []).append(_name)
UNKNOWN = "other: "
_AT_INFO = {name for name, entry in _TABLE.items() if entry.get("at_info")}
_PATTERNS = {name: phrase if _TABLE[name].get("regex") else re.escape(phrase) for name, phrase in WARNINGS.items()}
# The longest first: of two that begin alike it says more.
_PHRASE = re.compile(
    "|".join(f"(?P<{name}>{_PATTERNS[name]})" for name in sorted(WARNINGS, key=lambda name: -len(WARNINGS[name])))
)
_FAILED_REQUEST = re.compile(r"Request (?P<request>\S+?) ?(?:failed to load|The number of retrieved)")
_FAILING = re.compile(r"(?:Failing|Recovered from KV load failure:) (?P<requests>\d{1,12}) request")
_LEVEL_FIELD = re.compile(r'"(?:level|levelname|severity|lvl)"\s*:\s*"(\w+)"', re.IGNORECASE)
_LEVEL = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_MESSAGE_OF_JSON = re.compile(r'"(?:message|msg|log)"\s*:\s*"((?:[^"\\]|\\.)*)')
# What stands before a message: a container's or a system log's prefix, the process, the level with its time and place.
_PREFIX = re.compile(
    r"^(?:[\w./-]+\s+\| ?|\[pod/[^\]]+\] |[A-Z][a-z]{2} +\d+ [\d:]+ \S+ \S+: |\d{4}-\d\d-\d\dT\S+ (?:std\w+ [FP] )?)*"
    r"(?:\([^()]{1,60} pid=\d+[^()]{0,40}\) )?"
    r"(?:(?:\[[\d\- :,]+\] LMCache )?(?:WARNING|ERROR|CRITICAL):? (?:\d\d-\d\d [\d:.]+ )?(?:\[[\w.]+:\d+\] ?)?)?"
)
_PLACE = re.compile(r" ?\([\w.]+\.py:\d+:[\w.]+\)$")
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .*)?$")
_IN_A_TRACEBACK = re.compile(r"\s|\^|Traceback|The above exception|During handling|$")
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?")
# Said at every healthy start, or said again of the line before.
_HARMLESS = (
    "You can set the configuration file",
    "Controller message sender",
    "LazyMemoryAllocator requires memory pinning",
    "Num retrieved tokens: ",
)
_IMPORTS = ("import_failed", "import_name")
_LONGEST = 8000
_KEPT_CHARACTERS = 400


class Trouble(NamedTuple):
    """A line that warns.

    ``id``: one of WARNINGS, or UNKNOWN and the message without its numbers; ``said``: the message; ``severe``: an
    error; ``exception``: it names one; ``request``: whose load failed, or empty; ``requests``: how many failed, by
    vLLM's count.
    """

    id: str
    line: str
    said: str
    severe: bool
    exception: bool
    request: str
    requests: int

    @property
    def known(self) -> bool:
        return self.id in WARNINGS


def read_warning(line: str) -> Trouble | None:
    """None for a line that warns of nothing about KV: any error does, and any warning of LMCache's."""
    if any(phrase in line for phrase in _HARMLESS):
        return None
    line = strip_ansi(line[:_LONGEST]).strip()
    in_json = _MESSAGE_OF_JSON.search(line) if line.startswith("{") else None
    messages = [_without_prefix(part) for part in in_json[1].split("\\n")] if in_json else [_without_prefix(line)]
    level = _level(line)
    exception = next((part for part in messages if _EXCEPTION.match(part)), "")
    said = exception or messages[0]
    phrase = _PHRASE.search(line)
    known = (phrase and phrase.lastgroup) or ""
    if level == "WARNING" and known in _IMPORTS:  # something optional that is not there
        known = ""
    if level in ("INFO", "DEBUG") and known not in _AT_INFO:
        return None
    severe = level in ("ERROR", "CRITICAL") or (not level and bool(exception))
    if known:
        severe = severe or not level or (level == "INFO" and "problem" in _TABLE[known])
    elif not exception and (_IN_A_TRACEBACK.match(said) or not level or not (severe or "LMCache" in line or in_json)):
        return None
    failed, failing = (pattern.search(line) if known else None for pattern in (_FAILED_REQUEST, _FAILING))
    return Trouble(
        known or UNKNOWN + _NUMBERS.sub("#", said)[:120],
        line,
        said.strip()[:_KEPT_CHARACTERS],
        severe,
        bool(exception),
        failed["request"] if failed else "",
        int(failing["requests"]) if failing else 0,
    )


def _level(line: str) -> str:
    """The level that the line gives itself; empty where it gives none, as Python's own lines do."""
    if match := _LEVEL_FIELD.search(line):
        level = match[1].upper()
        return {"WARN": "WARNING", "FATAL": "CRITICAL"}.get(level, level)
    return match[0] if (match := _LEVEL.search(line)) else ""


def _without_prefix(line: str) -> str:
    return _PLACE.sub("", _PREFIX.sub("", line, count=1))
