"""The engines' log lines that prove something, parsed.

Source: format strings of LMCache 0.5.6 (vllm_v1_adapter.py, cache_engine.py) and of earlier versions, back to
0.3. LMCache colours its lines in files too. Its "GB" are 1024³ bytes.
"""

import ast
import re
import warnings
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple

from kvtiers.logs.requests import Request

# Raw, or as JSON, Python, syslog and terminals write the escape character.
_ESCAPES = ("\x1b", "\\u001", "\\x1", "\\033", "#033", "^[")
_ANSI = re.compile(r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|#033|\^\[)\[[0-9;]*m")
# Before 0.3.7 there was no "computed" field; need to load could then be negative, a block held more than was hit.
LOOKUP = re.compile(
    r"Reqid: (?P<request>[^\s,]+), Total tokens (?P<total>\d{1,12}), "
    r"(?:Inference Engine computed tokens: (?P<computed>\d{1,12}), )?"
    r"LMCache hit tokens: (?P<hit>\d{1,12}), (?:but )?need to load: (?P<load>-?\d{1,12})(?P<skipped> < min_retrieve)?"
)
# MP mode's engine, which does not say how long the request is.
RESUMED = re.compile(
    r"<resume-load> req=(?P<request>\S+) apc=(?P<computed>\d{1,12}) lmcache=(?P<hit>\d{1,12}) load=(?P<load>\d{1,12})"
)
# The worker's transfers: what was copied out of the engine, whether or not a tier kept it, and the load that really
# happened. Before them stands for which request, in versions that say it.
_COST = r"(?:.{0,60}?size: (?P<gib>\d{1,9}(?:\.\d+)?) [gG][bB], cost (?P<ms>\d{1,12}(?:\.\d+)?) ms)?"
STORED = re.compile(r"Stored (?P<tokens>\d{1,12}) out of total (?P<of>\d{1,12}) tokens\." + _COST)
RETRIEVED = re.compile(
    r"Retrieved (?P<tokens>\d{1,12}) out of (?P<of>\d{1,12}) (?:required tokens|out of total)" + _COST
)
_STAMP = re.compile(r"(\d\d):(\d\d):(\d\d),(\d{3})\] LMCache ")
_MOVED_FOR = re.compile(r"\[req_id=([^\]\s]*)\] \w+ ")
_LONGEST_ID = 300
SETTINGS = (
    *("chunk_size", "local_cpu", "max_local_cpu_size", "local_disk", "max_local_disk_size"),
    *("remote_url", "remote_storage_plugins", "pre_caching_hash_algorithm"),
)
"""LMCache's settings that a reader is shown."""


class Moved(NamedTuple):
    """KV that LMCache moved for one request: ``tokens`` of it, ``of`` as many, in ``cost_s`` seconds.

    ``request_id``: empty in lines of versions that do not say it. ``gib`` and ``cost_s``: 0 where not said.
    """

    request_id: str
    tokens: int
    of: int
    gib: float
    cost_s: float


def strip_ansi(line: str) -> str:
    """Without colours."""
    return _ANSI.sub("", line) if any(escape in line for escape in _ESCAPES) else line


def parse_lookup(line: str) -> Request | None:
    """The ``Reqid: …`` line; a request below LMCache's ``min_retrieve`` loads nothing, whatever the line says."""
    match = LOOKUP.search(line)
    return request_of(match) if match else None


def parse_retrieved(line: str) -> Moved | None:
    """The worker's ``Retrieved … out of … required tokens``: the load that really happened."""
    match = RETRIEVED.search(line)
    return moved_of(match) if match else None


def parse_stored(line: str) -> Moved | None:
    """``Stored … out of total … tokens``: copied out of the engine. Printed whether or not a tier kept it."""
    match = STORED.search(line)
    return moved_of(match) if match else None


def time_of(line: str) -> float:
    """Time of day in seconds, from LMCache's own stamp; -1 where there is none."""
    stamp = _STAMP.search(line)
    if not stamp:
        return -1.0
    hours, minutes, seconds, thousandths = map(int, stamp.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def request_of(match: re.Match[str]) -> Request:
    """What a match of LOOKUP or RESUMED says that LMCache plans for a request."""
    said = match.groupdict()
    hit, load, skipped = int(said["hit"]), int(said["load"]), bool(said.get("skipped"))
    computed = hit - load if said["computed"] is None else int(said["computed"])
    loads = 0 if skipped else max(load, 0)
    total = int(said.get("total") or 0)
    return Request(said["request"], total, computed, hit, loads, skipped, time_of(match.string))


def moved_of(match: re.Match[str]) -> Moved:
    """What a match of STORED or RETRIEVED says, and for whom: ``[req_id=…] `` right before the verb."""
    tokens, of, gib, ms = match.groups()
    text, at = match.string, match.start("tokens")
    start = text.rfind("[req_id=", max(at - _LONGEST_ID, 0), at)
    said = _MOVED_FOR.fullmatch(text, start, at) if start >= 0 else None
    return Moved(said[1] if said else "", int(tokens), int(of), float(gib or 0), float(ms or 0) / 1000)


@lru_cache(16)
def settings_of(text: str) -> dict[str, Any]:
    """LMCache prints its settings as a Python dict; ``inf`` is no literal. Sizes of old versions carry a unit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged line is not ours to be warned of
            printed = ast.literal_eval(re.sub(r"(?<=: )inf\b", "None", text))
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
