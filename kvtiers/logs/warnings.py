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
FOUND_BY = tuple({words for entry in _TABLE.values() for words in entry.get("find", ())})
"""Words by which lines are found that have no level and name no exception."""
_PATTERNS = {name: re.compile(entry["line"]) for name, entry in _TABLE.items() if entry.get("regex")}
# Words before patterns, and the longest first: of two that begin alike it says more.
_ORDER = sorted(WARNINGS, key=lambda name: (name in _PATTERNS, -len(WARNINGS[name])))
_FAILED_REQUEST = re.compile(r"Request (?P<request>\S+?) ?(?:failed to load|The number of retrieved)")
_FAILING = re.compile(r"(?:Failing|Recovered from KV load failure:) (?P<requests>\d{1,12}) request")
# Of JSON; pino writes numbers.
_LEVEL_FIELD = re.compile(
    r'"(?:log[._]?)?(?:level(?:name)?|severity(?:_?text)?|lvl|status)"\s*:\s*"?(\w+)', re.IGNORECASE
)
# Whichever comes first: Python's words, logfmt, glog's letter, what commands say ("vllm serve: error: …").
_LEVEL = re.compile(
    r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\b|\b(?:level|lvl|severity)=\"?(\w+)"
    r"|(?:^|[\s\[|:])([IWEF])\d{4} \d\d:\d\d:\d\d\.\d|^(?:[\w./-]+\s+\| ?)?(?:[\w ./-]{1,40}: )?(error): "
)
_LEVELS = {
    **dict.fromkeys(("trace", "debug", "10", "20"), "DEBUG"),
    **dict.fromkeys(("info", "notice", "30", "i"), "INFO"),
    **dict.fromkeys(("warning", "warn", "40", "w"), "WARNING"),
    **dict.fromkeys(("error", "err", "50", "e"), "ERROR"),
    **dict.fromkeys(("critical", "crit", "fatal", "panic", "alert", "emerg", "emergency", "60", "f"), "CRITICAL"),
}
_MESSAGE_OF_JSON = re.compile(
    r'"(?:message|msg|log|textPayload|event|text|line)"\s*:\s*"((?:[^"\\]|\\.)*)', re.IGNORECASE
)
# What users wrote and got, where the server logs it.
_OF_USERS = re.compile(r"Received request |Generated response ")
# What stands before a message: a container's or a system log's prefix, the process, the level with its time and place.
_PREFIX = re.compile(
    r"^(?:[\w./-]+\s+\| ?|\[pod/[^\]]+\] |[A-Z][a-z]{2} +\d+ [\d:]+ \S+ \S+: |\d{4}-\d\d-\d\dT\S+ (?:std\w+ [FP] )?)*"
    r"(?:\([^()]{1,60} pid=\d+[^()]{0,40}\) )?"
    r"(?:(?:\[[\d\- :,]+\] LMCache )?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):? "
    r"(?:\d\d-\d\d [\d:.]+ )?(?:\[[\w.]+:\d+\] ?)?)?"
)
_PLACE = re.compile(r" ?\([\w.]+\.py:\d+:[\w.]+\)$")
_EXCEPTION = re.compile(
    r"(?:(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b(?:: .*)?|(?:[a-z_]\w*\.)+exc\.\w+: .*|SystemExit: [1-9]\d*)$"
)
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
OF_THE_STREAM = "a level that is its stream's"
"""Id of a line whose field says ERROR and whose own words say INFO, as a collector writes that marks all of stderr."""
_LONGEST = 8000
_KEPT_CHARACTERS = 400


class Trouble(NamedTuple):
    """A line that warns.

    ``id``: one of WARNINGS, or UNKNOWN and the message without its numbers, or OF_THE_STREAM; ``said``: the message;
    ``severe``: an error; ``exception``: it names one; ``request``: whose load failed, or empty; ``requests``: how many
    failed, by vLLM's count; ``by_field``: that it is an error only a field beside the message says.
    """

    id: str
    line: str
    said: str
    severe: bool
    exception: bool
    request: str
    requests: int
    by_field: bool = False

    @property
    def known(self) -> bool:
        return self.id in WARNINGS


def read_warning(line: str) -> Trouble | None:
    """None for a line that warns of nothing about KV: any error does, and any warning of LMCache's."""
    if any(phrase in line for phrase in _HARMLESS):
        return None
    line = strip_ansi(line[:_LONGEST]).strip()
    record = '{"' in line and _without_prefix(line).startswith(("{", "[{"))
    in_json = _MESSAGE_OF_JSON.search(line) if record else None
    parts = in_json[1].split("\\n") if in_json else [line]
    messages = [_without_prefix(part) for part in parts]
    own, field = _own_level(parts[0]), _level(_LEVEL_FIELD.search(line)) if in_json else ""
    level = own or field or _level(_LEVEL.search(line))
    exception = next((part for part in messages if _EXCEPTION.match(part)), "")
    said = exception or messages[0]
    harmless = level in ("INFO", "DEBUG")
    known = next((name for name in _ORDER if (name in _AT_INFO or not harmless) and _says(line, name)), "")
    if level == "WARNING" and known in _IMPORTS:  # something optional that is not there
        known = ""
    if harmless and (not known or _OF_USERS.search(line)):
        stream = in_json and field in ("ERROR", "CRITICAL")
        return Trouble(OF_THE_STREAM, line, said, False, False, "", 0) if stream else None
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
        by_field=bool(in_json and not (own or known or exception)),
    )


def _says(line: str, name: str) -> bool:
    return bool(_PATTERNS[name].search(line)) if name in _PATTERNS else WARNINGS[name] in line


def _own_level(message: str) -> str:
    """The level that the message itself begins with; it counts for more than a field beside it."""
    match = _PREFIX.match(message)
    return (match and match["level"]) or ""


def _level(match: re.Match[str] | None) -> str:
    """The level that a line gives itself; empty where it gives none, as Python's own lines do."""
    said = next(filter(None, match.groups()), "") if match else ""
    return _LEVELS.get(said.lower(), "")


def _without_prefix(line: str) -> str:
    return _PLACE.sub("", _PREFIX.sub("", line, count=1))
