import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.ledger.stack import Speeds, StackTier, Workload, replay
from kvtiers.ledger.tiers import Tier
from kvtiers.units import KIB

SPEEDS = Speeds(kv_bytes_per_token=128 * KIB, prefill_tokens_per_s=4000)
WORKLOAD = Workload(requests=200, documents=20, prefix_tokens=8192)  # 1 GiB of KV a document
gib = st.floats(0, 30)


def test_the_same_seed_gives_the_same_stream() -> None:
    assert WORKLOAD.stream() == WORKLOAD.stream()
    assert WORKLOAD.stream() != Workload(200, 20, 8192, seed=1).stream()


def test_with_room_for_everything_only_first_requests_are_computed() -> None:
    result = replay(WORKLOAD, [StackTier(Tier.VRAM, 20)], SPEEDS)
    assert result.answered_by.count(Tier.NONE) == len(set(WORKLOAD.stream()))


def test_a_tier_evicts_its_least_recently_used_entry() -> None:
    stream = WORKLOAD.stream()
    answered_by = replay(WORKLOAD, [StackTier(Tier.CPU, 2)], SPEEDS).answered_by
    for index, document in enumerate(stream):
        recent = list(dict.fromkeys(reversed(stream[:index])))[:2]
        assert (answered_by[index] is Tier.CPU) == (document in recent)


def test_a_tier_of_no_size_never_answers() -> None:
    result = replay(WORKLOAD, [StackTier(Tier.VRAM, 2), StackTier(Tier.SSD, 0)], SPEEDS)
    assert result.share(Tier.SSD) == 0


@given(vram=gib, cpu=gib, ssd=gib)
def test_a_lower_tier_never_costs_hits(vram: float, cpu: float, ssd: float) -> None:
    tiers = [StackTier(Tier.VRAM, vram), StackTier(Tier.CPU, cpu), StackTier(Tier.SSD, ssd)]
    rates = [replay(WORKLOAD, tiers[:depth], SPEEDS).hit_rate for depth in (1, 2, 3)]
    assert rates == sorted(rates)


def test_after_a_restart_only_what_survives_is_found() -> None:
    tiers = [StackTier(Tier.VRAM, 20), StackTier(Tier.SSD, 20), StackTier(Tier.REMOTE, 20, survives_restart=True)]
    lost = replay(WORKLOAD, tiers[:2], SPEEDS, restarts_before=[100])
    kept = replay(WORKLOAD, tiers, SPEEDS, restarts_before=[100])
    assert lost.answered_by[100] is Tier.NONE
    assert kept.answered_by[100] is Tier.REMOTE


def test_saved_time_is_recompute_less_load_for_each_hit() -> None:
    result = replay(WORKLOAD, [StackTier(Tier.SSD, 20)], SPEEDS)
    recompute_s, load_s = 8192 / 4000, 8192 * 128 * KIB / 6e9
    assert result.saved_s == pytest.approx(result.answered_by.count(Tier.SSD) * (recompute_s - load_s))


def test_hit_rate_over_time_averages_to_the_hit_rate() -> None:
    result = replay(WORKLOAD, [StackTier(Tier.VRAM, 5)], SPEEDS)
    windows = result.hit_rate_over_time(50)
    assert sum(windows) / len(windows) == pytest.approx(result.hit_rate)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(KvtiersError, match="capacity_gib of ssd"):
        replay(WORKLOAD, [StackTier(Tier.SSD, -1)], SPEEDS)
    with pytest.raises(KvtiersError, match="documents"):
        replay(Workload(10, 0, 100), [], SPEEDS)
