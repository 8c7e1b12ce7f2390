"""The engines' log lines that prove something, parsed.

Source: format strings of LMCache 0.5.6 (vllm_v1_adapter.py, cache_engine.py) and of earlier versions, back to
0.3. LMCache colours its lines in files too. Its "GB" are 1024³ bytes.
"""

import re
from typing import NamedTuple

# Raw, or as JSON, Python, syslog and terminals write the escape character.
_ANSI = re.compile(r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|#033|\^\[)\[[0-9;]*m")
# Before 0.3.7 there was no "computed" field; need to load could then be negative, a block held more than was hit.
LOOKUP = (
    r"Reqid: (?P<request>[^\s,]+), Total tokens (?P<total>\d{1,12}), "
    r"(?:Inference Engine computed tokens: (?P<computed>\d{1,12}), )?"
    r"LMCache hit tokens: (?P<hit>\d{1,12}), (?:but )?need to load: (?P<load>-?\d{1,12})(?P<skipped> < min_retrieve)?"
)
# The worker's transfers: what was copied out of the engine, whether or not a tier kept it, and the load that really
# happened. Before them stands for which request, in versions that say it.
_COST = r"(?:.{0,60}?size: (?P<%s_gib>\d{1,9}(?:\.\d+)?) [gG][bB], cost (?P<%s_ms>\d{1,12}(?:\.\d+)?) ms)?"
STORED = r"Stored (?P<stored>\d{1,12}) out of total \d+ tokens\." + _COST % ("stored", "stored")
RETRIEVED = (
    r"Retrieved (?P<retrieved>\d{1,12}) out of (?P<required>\d{1,12}) (?:required tokens|out of total)"
    + _COST % ("retrieved", "retrieved")
)
_LOOKUP, _STORED, _RETRIEVED = map(re.compile, (LOOKUP, STORED, RETRIEVED))
_MOVED_FOR = re.compile(r"\[req_id=([^\]\s]*)\] \w+ ")
_LONGEST_ID = 300


class Lookup(NamedTuple):
    """LMCache's plan for one request, in tokens.

    ``computed`` is what the engine already *holds* in its own prefix cache (vLLM's num_computed_tokens), not what it
    recomputed. ``skipped``: too little to be worth a load.
    """

    request_id: str
    total: int
    computed: int
    hit: int
    need_to_load: int
    skipped: bool
    printed: str

    @property
    def line(self) -> str:
        return strip_ansi(self.printed).strip()


class Transfer(NamedTuple):
    """KV that LMCache moved for one request: ``tokens`` of it in ``cost_s`` seconds.

    ``request_id``: empty in lines of versions that do not say it. ``required``: tokens a load was asked
    for. ``gib`` and ``cost_s``: 0 where not said.
    """

    request_id: str
    tokens: int
    required: int
    gib: float
    cost_s: float


def strip_ansi(line: str) -> str:
    """Without colours."""
    return _ANSI.sub("", line)


def parse_lookup(line: str) -> Lookup | None:
    """The ``Reqid: …`` line; a request below LMCache's ``min_retrieve`` loads nothing, whatever the line says."""
    match = _LOOKUP.search(line)
    return Lookup(*lookup_values(match), line) if match else None


def parse_retrieved(line: str) -> Transfer | None:
    """The worker's ``Retrieved … out of … required tokens``: the load that really happened."""
    match = _RETRIEVED.search(line)
    return Transfer(*retrieved_values(match)) if match else None


def parse_stored(line: str) -> Transfer | None:
    """``Stored … out of total … tokens``: copied out of the engine. Printed whether or not a tier kept it."""
    match = _STORED.search(line)
    return Transfer(*stored_values(match)) if match else None


def lookup_values(match: re.Match[str]) -> tuple[str, int, int, int, int, bool]:
    """Of a match of LOOKUP, the fields of a ``Lookup`` but for the line."""
    request, total, said, hit_text, load_text, skipped = match.group(
        "request", "total", "computed", "hit", "load", "skipped"
    )
    hit, load = int(hit_text), int(load_text)
    computed = hit - load if said is None else int(said)
    return request, int(total), computed, hit, 0 if skipped or load < 0 else load, skipped is not None


def retrieved_values(match: re.Match[str]) -> tuple[str, int, int, float, float]:
    """Of a match of RETRIEVED, the fields of a ``Transfer``."""
    tokens, required, gib, ms = match.group("retrieved", "required", "retrieved_gib", "retrieved_ms")
    return _moved_for(match, "retrieved"), int(tokens), int(required), float(gib or 0), float(ms or 0) / 1000


def stored_values(match: re.Match[str]) -> tuple[str, int, int, float, float]:
    """Of a match of STORED, the fields of a ``Transfer``."""
    tokens, gib, ms = match.group("stored", "stored_gib", "stored_ms")
    return _moved_for(match, "stored"), int(tokens), 0, float(gib or 0), float(ms or 0) / 1000


def _moved_for(match: re.Match[str], tokens: str) -> str:
    """The id in ``[req_id=…] `` right before the verb; empty where none stands there."""
    text, at = match.string, match.start(tokens)
    start = text.rfind("[req_id=", max(at - _LONGEST_ID, 0), at)
    said = _MOVED_FOR.fullmatch(text, start, at) if start >= 0 else None
    return said[1] if said else ""
