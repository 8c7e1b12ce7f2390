"""What a request was, by its lines in every version."""

import pytest

from kvtiers.logs.read import read_log_text
from kvtiers.logs.requests import Kind
from tests.core.logs.builders import info, lookup, retrieved, stored

KINDS = [
    ("cold", [lookup("r"), stored("r")], Kind.COLD),
    ("engine hit", [lookup("r", computed=1280, hit=1280)], Kind.ENGINE_HIT),
    ("tier hit", [lookup("r", hit=1280, load=1280), retrieved("r")], Kind.TIER_HIT),
    ("both", [lookup("r", computed=512, hit=1280, load=768), retrieved("r", 768, 768)], Kind.PARTIAL),
    ("plan only", [lookup("r", hit=1280, load=1280)], Kind.UNPROVEN),
    ("short", [lookup("r", total=200)], Kind.TOO_SHORT),
    ("stored before", [lookup("a"), stored("a"), lookup("r", computed=1280)], Kind.MISSED_STORED),
    (
        "below minimum",
        [
            "Reqid: r, Total tokens 300, Inference Engine computed tokens: 128, LMCache hit tokens: 256, but need to "
            "load: 128 < min_retrieve 256, skip retrieve but record for save skip"
        ],
        Kind.SKIPPED,
    ),
    ("fewer than promised", [lookup("r", hit=1280, load=1280), retrieved("r", 512)], Kind.FAILED_LOAD),
    (
        "blocks lost",
        [
            lookup("r", hit=1280, load=1280),
            info("Request r failed to load 256 tokens across 2 blocks", level="WARNING"),
        ],
        Kind.FAILED_LOAD,
    ),
    (
        "glued message",
        [
            lookup("r", hit=1280, load=1280),
            info("Request rThe number of retrieved tokens is less than the expected number of tokens!", level="ERROR"),
        ],
        Kind.FAILED_LOAD,
    ),
    (
        "before the C field",
        ["Reqid: r, Total tokens 1330, LMCache hit tokens: 1280, need to load: -1"],
        Kind.ENGINE_HIT,
    ),
    (
        "before request ids in transfers",
        [
            "Reqid: r, Total tokens 1330, LMCache hit tokens: 1280, need to load: 1280",
            "Retrieved 1280 out of 1280 required tokens (from 1280 total tokens). size: 0.0195 gb, cost 16.2 ms",
        ],
        Kind.TIER_HIT,
    ),
    (
        "layerwise",
        [lookup("r", hit=1280, load=1280), info("[req_id=r] Retrieved 1280 out of 1280 out of total 1330 tokens")],
        Kind.TIER_HIT,
    ),
    ("polled", [lookup("r"), lookup("r", hit=1280, load=1280), retrieved("r")], Kind.TIER_HIT),
    (
        "asynchronous",
        ["Reqid: r, LMCache hit tokens: None.", lookup("r", hit=1280, load=1280), retrieved("r")],
        Kind.TIER_HIT,
    ),
    ("MP mode", ["<resume-load> req=r apc=0 lmcache=1280 load=1280"], Kind.UNPROVEN),
]


@pytest.mark.parametrize(("lines", "kind"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS])
def test_what_a_request_was(lines: list[str], kind: Kind) -> None:
    assert read_log_text("\n".join(lines)).finished[-1].kind is kind


def test_every_kind_has_a_log() -> None:
    assert {kind for _, _, kind in KINDS} == set(Kind)
