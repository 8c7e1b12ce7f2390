from dataclasses import replace

import pytest

from kvtiers.result.steps import Arm, Step
from kvtiers.result.summary import summarize
from tests.core.builders import result, sample


def test_medians_with_their_spread() -> None:
    row = result().summary.step(Arm.LMCACHE, Step.COLD)
    assert row is not None
    assert (row.ttft.median_s, row.ttft.min_s, row.ttft.max_s) == pytest.approx((0.99, 0.9, 1.08))


def test_ratios_are_between_medians() -> None:
    summary = result().summary
    assert summary.cold_over_ssd_reuse == pytest.approx(0.9 / 0.08)
    assert summary.evicted_recompute_over_ssd_reuse == pytest.approx(0.85 / 0.08)
    assert summary.cold_over_control_cold == pytest.approx(0.9 / 0.85)


def test_the_prefill_rate_comes_from_requests_that_store_nothing() -> None:
    assert result().summary.prefill_tokens_per_s == pytest.approx(1330 / (0.85 * 1.1))


def test_a_reuse_is_split_into_prefetch_load_tail_and_rest() -> None:
    ram, drive = result().summary.reuse_parts
    assert (ram.step, drive.step) == (Step.CPU_HIT, Step.SSD_REUSE)
    assert (drive.tail_tokens, drive.prefetch_s, drive.retrieve_s) == (50, 0.02, 0.014)
    assert drive.rest_s == pytest.approx(0.088 - 0.02 - 0.014)


def test_the_price_of_storing_is_lmcaches_own_account() -> None:
    assert result().summary.store_s == 0.01


def test_without_a_step_there_is_no_ratio() -> None:
    summary = summarize([sample(Arm.LMCACHE, Step.COLD, 0.9)], "seeded")
    assert summary.cold_over_ssd_reuse is None
    assert summary.reuse_parts == ()
    assert summarize([], "seeded").steps == ()


def test_the_drive_has_its_share_of_a_reuse_from_the_drive_only() -> None:
    ram, drive = result().summary.reuse_parts
    assert ram.drive_share is None
    assert drive.drive_share == pytest.approx(0.02 / 0.088)
    assert replace(drive, prefetch_s=0.0).drive_share == pytest.approx(0.014 / 0.088), "inside the engine"
    assert replace(drive, step=Step.PAGE_CACHE_REUSE).drive_share is None
