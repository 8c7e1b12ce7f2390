"""The engines' log lines that prove something, parsed.

Source: format strings of LMCache 0.5.6 (vllm_v1_adapter.py, cache_engine.py). LMCache colours its lines in files too.
"""

import re
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_LOOKUP = re.compile(
    r"Reqid: (?P<request>\S+), Total tokens (?P<total>\d+), Inference Engine computed tokens: (?P<computed>\d+), "
    r"LMCache hit tokens: (?P<hit>\d+), (?:but )?need to load: (?P<load>-?\d+)(?P<skipped> < min_retrieve)?"
)
_RETRIEVED = re.compile(
    r"\[req_id=(?P<request>[^\]]+)\] Retrieved (?P<tokens>\d+) out of (?P<required>\d+) required tokens .*?"
    r"cost (?P<cost_ms>[\d.]+) ms"
)
_STORED = re.compile(
    r"\[req_id=(?P<request>[^\]]+)\] Stored (?P<tokens>\d+) out of total \d+ tokens\. .*?cost (?P<cost_ms>[\d.]+) ms"
)


@dataclass(frozen=True)
class Lookup:
    """LMCache's plan for one request, in tokens.

    ``computed`` is what the engine already *holds* in its own prefix cache (vLLM's num_computed_tokens), not what it
    recomputed.
    """

    request_id: str
    total: int
    computed: int
    hit: int
    need_to_load: int
    line: str


@dataclass(frozen=True)
class Transfer:
    """KV that LMCache moved for one request: ``tokens`` of it in ``cost_s`` seconds."""

    request_id: str
    tokens: int
    cost_s: float


def strip_ansi(line: str) -> str:
    """The line without colour codes."""
    return _ANSI.sub("", line)


def parse_lookup(line: str) -> Lookup | None:
    """The ``Reqid: …`` line; a request below LMCache's ``min_retrieve`` loads nothing, whatever the line says."""
    text = strip_ansi(line)
    match = _LOOKUP.search(text)
    if not match:
        return None
    load = 0 if match["skipped"] else int(match["load"])
    return Lookup(
        match["request"].rstrip(","), int(match["total"]), int(match["computed"]), int(match["hit"]), load, text.strip()
    )


def parse_retrieved(line: str) -> Transfer | None:
    """The worker's ``Retrieved … out of … required tokens``: the load that really happened."""
    return _transfer(_RETRIEVED, line)


def parse_stored(line: str) -> Transfer | None:
    """``Stored … out of total … tokens``: copied out of the engine. Printed whether or not a tier kept it."""
    return _transfer(_STORED, line)


def _transfer(pattern: re.Pattern[str], line: str) -> Transfer | None:
    match = pattern.search(strip_ansi(line))
    return Transfer(match["request"], int(match["tokens"]), float(match["cost_ms"]) / 1000) if match else None
