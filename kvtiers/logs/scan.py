"""From a block of a log to what it says: events, plain tuples of a name and values.

What a log's lines add up to is not known here. Each message is found by words that only it has, whatever stands before
it in its line. Blocks are read as Latin-1, which decodes at the speed of a copy; text that is kept is read as UTF-8.

Source: format strings of LMCache 0.3 to 0.5.6 and vLLM 0.32.0; for other systems see others.toml.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kvtiers.logs.lines import LOOKUP, RESUMED, RETRIEVED, STORED, moved_of, request_of, settings_of, time_of
from kvtiers.logs.warnings import FOUND_BY, read_warning
from kvtiers.tables import read_table

Event = tuple[Any, ...]
Match = re.Match[str]

OTHERS = read_table("logs/others.toml")
"""Systems whose logs are not judged here: what only their lines say, their connectors, a hint."""
_TROUBLE = (
    *("ERROR", "CRITICAL", "FATAL", "LMCache WARNING", "KV load failure", "Error", "Exception", "error: "),
    *("Traceback (most recent call last)", ".exc.", "SystemExit: "),
    *("=error", "=fatal", "=critical", "=panic"),  # logfmt
    *(".cpp:", ".cc:", ".go:"),  # glog, which gives its level as a letter
    *FOUND_BY,
)
# Logs in JSON name the level in a field of its own.
_LEVEL_FIELDS = ('"level', 'level"', '"severity', '"lvl"', '"status"')
_TROUBLE_IN_JSON = (
    *('"error"', '"err"', '"warning"', '"warn"', '"WARNING"', '"WARN"', '"critical"', '"crit"', '"fatal"', '"panic"'),
    *('"level":50', '"level":60', '"level": 50', '"level": 60'),
)
_LOST_ENDS = (
    ("},", re.compile(r'(?<=\}),\s*(?=\{\s*")')),
    (
        "\\n",
        re.compile(r"\\n(?=(?:(?:\x1b|\\u001b)\[[\d;]*m)*(?:\(\w+ pid=|\[\d{4}-\d\d-\d\d |(?:INFO|WARNING|ERROR) ))"),
    ),
)
_WHOSE = (
    r"(?:(?P<container>[\w./-]+)\s+\| ?|\[pod/(?P<pod>[^\]]+)\] "
    r"|[A-Z][a-z]{2} +\d+ [\d:]+ \S+ (?P<unit>[\w.@-]+)\[\d+\]: )"
)
_PROCESS = re.compile(_WHOSE + r"?.{0,80}?\((?P<role>\w+)[^()]{0,20} pid=(?P<pid>\d+)[^()]{0,40}\)")
_CONTAINER = re.compile(_WHOSE)


def events_of(block: bytes) -> list[Event]:
    """What the lines of ``block`` say, in order, without a look at each line."""
    text = _with_line_ends(block.decode("latin-1"))
    said: dict[int, Event] = {}
    for words, forms in _FORMS.items():
        for start, end in _lines_with(text, words):
            for pattern, read in () if start in said else forms:
                # Lines are matched by themselves: ^ and $ are their ends.
                match = pattern.search(_utf8(text[start:end]))
                if match:
                    said[start] = read(match)
                    break
    in_json = any(field in text for field in _LEVEL_FIELDS)
    for words in (*_TROUBLE, *_TROUBLE_IN_JSON) if in_json else _TROUBLE:
        for start, end in _lines_with(text, words):
            if start not in said:
                event = _trouble(text[start:end])
                if event:
                    said[start] = event
    joined = text.count("Reqid: ") - sum(event[0] == "lookup" for event in said.values())
    if joined:  # several on a line: whoever joined the lines lost them
        joined = text.count("Reqid: ") - sum(1 for _ in _lines_with(text, "Reqid: "))
    events: list[Event] = [("lookup_not_read",)] * joined
    for start in sorted(said):
        process = _process(text[start : start + 200])
        if process:
            events.append(process)
        events.append(said[start])
    return events


def _with_line_ends(text: str) -> str:
    """The log's own lines, where a terminal, a JSON array or an escape stands for their ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for words, pattern in _LOST_ENDS:
        if words in text:
            text = pattern.sub("\n", text)
    return text


def _lines_with(text: str, words: str) -> Iterator[tuple[int, int]]:
    at = text.find(words)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text.rfind("\n", 0, at) + 1, end
        at = text.find(words, end)


def _process(line: str) -> Event | None:
    """Whose line it is: a container's or unit's name where one stands before it, and a process's role and number."""
    line = line.partition("\n")[0]
    match = _PROCESS.match(line) or _CONTAINER.match(line)
    if not match:
        return None
    parts = match.groupdict()
    container = parts["container"] or parts["pod"] or parts["unit"] or ""
    return "process", container, parts.get("role") or "", parts.get("pid") or ""


def _trouble(line: str) -> Event | None:
    line = _utf8(line)
    trouble = read_warning(line)
    if trouble:
        return "warning", trouble, time_of(line)
    return ("traceback",) if "Traceback (most" in line and " INFO" not in line else None


def _lookup(match: Match) -> Event:
    return "lookup", request_of(match)


def _other_system(name: str, match: Match) -> Event:
    return "other_system", name


def _event(name: str, timed: bool, match: Match) -> Event:
    """One of events.toml: the groups of its pattern are its values."""
    values = [_KINDS.get(group, _text)(said) for group, said in match.groupdict().items()]
    return name, *values, *([time_of(match.string)] if timed else [])


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def _text(said: str | None) -> str:
    return said or ""


_KINDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("tokens", "found", "asked", "slots"), lambda said: int(said.replace(",", ""))),
    **dict.fromkeys(("seconds", "own", "value"), float),
    "external": lambda said: None if said is None else float(said),
    "settings": settings_of,
    "packages": lambda said: dict(
        re.findall(r"(?<![\w-])(vllm|lmcache)(?:-|==| {2,}| in \S+ \()(\d+(?:\.\d\w*)*)", said)
    ),
    "image": lambda said: {said.partition("/")[0]: said.rpartition(":v")[2]},
}
Read = Callable[[Match], Event]
Form = tuple[str, str | re.Pattern[str], Read]
_OF_REQUESTS: list[Form] = [
    ("Reqid: ", LOOKUP, _lookup),
    (" out of ", STORED, lambda match: ("stored", time_of(match.string), moved_of(match))),
    (" out of ", RETRIEVED, lambda match: ("retrieved", moved_of(match))),
    ("<resume-load> req=", RESUMED, _lookup),
]
_OF_EVENTS: list[Form] = [
    (words, form.get("pattern", ""), partial(_event, name, form.get("timed", False)))
    for name, forms in read_table("logs/events.toml").items()
    for form in forms
    for words in ([form["words"]] if isinstance(form["words"], str) else form["words"])
]
_OF_OTHERS: list[Form] = [
    (line, "", partial(_other_system, name)) for name, entry in OTHERS.items() for line in entry["lines"]
]
# By words: a line is found by them, then matched with each pattern until one fits.
_FORMS: dict[str, list[tuple[re.Pattern[str], Read]]] = {}
for _words, _pattern, _read in [*_OF_REQUESTS, *_OF_EVENTS, *_OF_OTHERS]:
    _FORMS.setdefault(_words, []).append((re.compile(_pattern), _read))
