"""Lines as LMCache 0.5.6 prints them, colours included."""

from kvtiers.logs.lines import parse_lookup, parse_retrieved, parse_stored

PREFIX = "(EngineCore pid=41) \x1b[32;20m[2026-11-29 14:06:56,431] LMCache INFO:\x1b[0m "
SUFFIX = " \x1b[3m(vllm_v1_adapter.py:1592:lmcache.integration.vllm.vllm_v1_adapter)\x1b[0m"


def test_the_lookup_line_gives_what_the_engine_holds_and_what_is_to_load() -> None:
    lookup = parse_lookup(
        PREFIX + "Reqid: cmpl-kvtiers-3-0-a1b2, Total tokens 1330, Inference Engine computed tokens: 0, "
        "LMCache hit tokens: 1280, need to load: 1280" + SUFFIX
    )
    assert lookup is not None
    assert (lookup.id, lookup.total, lookup.computed, lookup.hit, lookup.load) == (
        "cmpl-kvtiers-3-0-a1b2",
        1330,
        0,
        1280,
        1280,
    )


def test_a_load_below_the_minimum_is_not_a_load() -> None:
    lookup = parse_lookup(
        "Reqid: r, Total tokens 300, Inference Engine computed tokens: 128, LMCache hit tokens: 256, "
        "but need to load: 128 < min_retrieve 256, skip retrieve but record for save skip"
    )
    assert lookup is not None
    assert lookup.load == 0


def test_what_was_really_moved_and_how_long_it_took() -> None:
    retrieved = parse_retrieved(
        PREFIX + "[req_id=cmpl-kvtiers-3-0-a1b2] Retrieved 1280 out of 1280 required tokens (from 1280 total tokens). "
        "size: 0.0195 gb, cost 14.2510 ms, throughput: 1.3706 GB/s;" + SUFFIX
    )
    stored = parse_stored(
        "[req_id=cmpl-kvtiers-1-0-ff] Stored 1280 out of total 1330 tokens. size: 0.0195 GB, cost 9.5000 ms, "
        "throughput: 2.0 GB/s; offload_time: 5.1 ms, put_time: 4.4 ms"
    )
    assert retrieved is not None
    assert stored is not None
    assert (retrieved.request_id, retrieved.tokens, retrieved.cost_s) == ("cmpl-kvtiers-3-0-a1b2", 1280, 0.014251)
    assert (stored.tokens, stored.cost_s) == (1280, 0.0095)


def test_other_lines_are_none_of_these() -> None:
    for line in ("", "INFO: Application startup complete.", "Reqid: r, LMCache hit tokens: None."):
        assert parse_lookup(line) is None
        assert parse_retrieved(line) is None
        assert parse_stored(line) is None
