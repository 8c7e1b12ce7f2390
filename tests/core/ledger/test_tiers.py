import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.ledger.costs import load_s
from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Reason, Tier, Traffic, judge
from kvtiers.units import GIB, KIB

KV = 128 * KIB
ORDER = [Tier.VRAM, Tier.CPU, Tier.SSD]


def test_one_long_user_fits_in_cpu_ram() -> None:
    verdict = judge(Traffic(131_072, 1, reused=True), KV, free_vram_gib=10, cpu_ram_gib=64)
    assert (verdict.tier, verdict.reason) == (Tier.CPU, Reason.FITS_CPU)
    assert verdict.needed_bytes == 16 * GIB


def test_many_prefixes_not_one_long_request_need_an_ssd() -> None:
    assert judge(Traffic(131_072, 20, reused=True), KV, 10, 64).tier is Tier.SSD


def test_fp8_kv_brings_the_same_load_back_into_vram() -> None:
    assert judge(Traffic(131_072, 1, reused=True), KV / 2, 10, 64).tier is Tier.VRAM


def test_what_several_hosts_share_goes_where_all_of_them_look() -> None:
    verdict = judge(Traffic(131_072, 1, reused=True, shared=True), KV, 80, 512)
    assert (verdict.tier, verdict.reason) == (Tier.REMOTE, Reason.SHARED)


@pytest.mark.parametrize(("tokens_per_s", "tier"), [(45_000, Tier.SSD), (46_000, Tier.NONE)])
def test_a_tier_that_loads_more_slowly_than_is_computed_is_none(tokens_per_s: float, tier: Tier) -> None:
    """At 6 GB/s and 128 KiB break-even is 45,776 tokens/s."""
    verdict = judge(Traffic(131_072, 20, reused=True), KV, 10, 64, tokens_per_s)
    assert verdict.tier is tier
    assert (verdict.reason is Reason.SLOWER) == (tier is Tier.NONE)


def test_what_lies_in_vram_is_never_slower_than_computing() -> None:
    assert judge(Traffic(8192, 1, reused=True), KV, 10, 64, 1e6).tier is Tier.VRAM


def test_without_reuse_no_tier_helps_however_large() -> None:
    verdict = judge(Traffic(1e6, 100, reused=False), KV, 10, 64)
    assert (verdict.tier, verdict.reason) == (Tier.NONE, Reason.NOT_REUSED)


@given(
    tokens=st.floats(1, 1e7),
    prefixes=st.floats(1, 1e4),
    vram=st.floats(0, 1e4),
    ram=st.floats(0, 1e4),
    more=st.floats(1, 10),
)
def test_more_prefixes_never_move_the_verdict_nearer(
    tokens: float, prefixes: float, vram: float, ram: float, more: float
) -> None:
    fewer = judge(Traffic(tokens, prefixes, reused=True), KV, vram, ram).tier
    many = judge(Traffic(tokens, prefixes * more, reused=True), KV, vram, ram).tier
    assert ORDER.index(many) >= ORDER.index(fewer)


@pytest.mark.parametrize(("vram", "ram"), [(-1, 64), (10, float("nan"))])
def test_absurd_memory_is_refused(vram: float, ram: float) -> None:
    with pytest.raises(KvtiersError, match="must be a number of GiB"):
        judge(Traffic(1000, 1, reused=True), KV, vram, ram)


def test_nearer_tiers_bring_a_prefix_back_sooner() -> None:
    times = [load_s(10_000, KV, gb_per_s) for gb_per_s in DEFAULT_BANDWIDTH_GB_PER_S.values()]
    assert times == sorted(times)
