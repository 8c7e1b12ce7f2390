"""The engines' log lines that prove something, parsed.

Source: format strings of LMCache 0.5.6 (vllm_v1_adapter.py, cache_engine.py, MP mode) and of earlier versions, back to
0.3. LMCache colours its lines in files too. Its "GB" are 1024³ bytes.
"""

import re
from typing import NamedTuple

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
# Before 0.3.7 there was no "computed" field; need to load could then be negative, a block held more than was hit.
_LOOKUP = re.compile(
    r"Reqid: (?P<request>[^\s,]+), Total tokens (?P<total>\d{1,12}), "
    r"(?:Inference Engine computed tokens: (?P<computed>\d{1,12}), )?"
    r"LMCache hit tokens: (?P<hit>\d{1,12}), (?:but )?need to load: (?P<load>-?\d{1,12})(?P<skipped> < min_retrieve)?"
)
_MP_RESUME = re.compile(
    r"<resume-load> req=(?P<request>\S+) apc=(?P<computed>\d{1,12}) lmcache=(?P<hit>\d{1,12}) load=(?P<load>\d{1,12})"
)
_RETRIEVED = re.compile(
    r"Retrieved (?P<tokens>\d{1,12}) out of (?P<required>\d{1,12}) "
    r"(?:required tokens|out of total)"
    r"(?:.*?size: (?P<size>\d{1,9}(?:\.\d+)?) [gG][bB], cost (?P<cost_ms>\d{1,12}(?:\.\d+)?) ms)?"
)
_STORED = re.compile(
    r"Stored (?P<tokens>\d{1,12}) out of total \d+ tokens\."
    r"(?:.*?size: (?P<size>\d{1,9}(?:\.\d+)?) [gG][bB], cost (?P<cost_ms>\d{1,12}(?:\.\d+)?) ms)?"
)


class Lookup(NamedTuple):
    """LMCache's plan for one request, in tokens.

    ``computed`` is what the engine already *holds* in its own prefix cache (vLLM's num_computed_tokens), not what it
    recomputed. ``total`` is 0 where MP mode does not say it. ``skipped``: too little to be worth a load.
    """

    request_id: str
    total: int
    computed: int
    hit: int
    need_to_load: int
    printed: str
    skipped: bool = False

    @property
    def line(self) -> str:
        """The line without colours."""
        return strip_ansi(self.printed).strip()


class Transfer(NamedTuple):
    """KV that LMCache moved for one request: ``tokens`` of it in ``cost_s`` seconds.

    ``request_id``: empty in lines of versions that do not say it. ``required``: tokens a load was asked
    for. ``gib`` and ``cost_s``: 0 where not said.
    """

    request_id: str
    tokens: int
    cost_s: float
    required: int = 0
    gib: float = 0.0


def strip_ansi(line: str) -> str:
    """The line without colour codes."""
    return _ANSI.sub("", line)


def parse_lookup(line: str) -> Lookup | None:
    """The ``Reqid: …`` line; a request below LMCache's ``min_retrieve`` loads nothing, whatever the line says."""
    match = _LOOKUP.search(line)
    if not match:
        return None
    hit, load = int(match["hit"]), int(match["load"])
    computed = hit - load if match["computed"] is None else int(match["computed"])
    skipped = match["skipped"] is not None
    needed = 0 if skipped else max(load, 0)
    return Lookup(match["request"], int(match["total"]), computed, hit, needed, line, skipped)


def parse_resume(line: str) -> Lookup | None:
    """MP mode's ``<resume-load> …``, the engine's side of a lookup that found something to load."""
    match = _MP_RESUME.search(line)
    if not match:
        return None
    counts = int(match["computed"]), int(match["hit"]), int(match["load"])
    return Lookup(match["request"], 0, *counts, line)


def parse_retrieved(line: str) -> Transfer | None:
    """The worker's ``Retrieved … out of … required tokens``: the load that really happened."""
    return _transfer(_RETRIEVED, line, "required")


def parse_stored(line: str) -> Transfer | None:
    """``Stored … out of total … tokens``: copied out of the engine. Printed whether or not a tier kept it."""
    return _transfer(_STORED, line, None)


def _transfer(pattern: re.Pattern[str], line: str, required: str | None) -> Transfer | None:
    match = pattern.search(line)
    if not match:
        return None
    cost_s = float(match["cost_ms"] or 0) / 1000
    asked = int(match[required] or 0) if required else 0
    return Transfer(
        _request_before(line, match.start()), int(match["tokens"]), cost_s, asked, float(match["size"] or 0)
    )


def _request_before(line: str, at: int) -> str:
    """The id in ``[req_id=…] `` right before ``at``; empty where none stands there."""
    start = line.rfind("[req_id=", 0, at)
    return line[start + 8 : at - 2] if start >= 0 and line[at - 2 : at] == "] " else ""
