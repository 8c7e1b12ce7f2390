"""When answers that differ are rounding, and when they prove wrong KV: both sides of each line, made-up logprobs."""

from dataclasses import replace

import pytest

from kvtiers.result.schema import Parting, Sample
from kvtiers.result.steps import Arm, Step
from lab.judge.answers import GAP_NATS, differences, first_difference, is_rounding, wrong_answers
from tests.core.builders import sample

COLD = (7, 8, 9)


def answered(arm: Arm, step: Step, token_ids: tuple[int, ...]) -> Sample:
    plain = sample(arm, step, 0.1)
    return replace(plain, evidence=replace(plain.evidence, token_ids=token_ids))


def run(**changed: tuple[int, ...]) -> list[Sample]:
    """A repeat on both arms; a sample is named by arm and step."""
    asked = [(Arm.LMCACHE, step) for step in (Step.COLD, Step.GPU_HIT, Step.CPU_HIT, Step.SSD_REUSE)]
    asked += [(Arm.LMCACHE, Step.SSD_AFTER_RESTART), (Arm.CONTROL, Step.COLD), (Arm.CONTROL, Step.EVICTED_RECOMPUTE)]
    return [answered(arm, step, changed.get(f"{arm}_{step}", COLD)) for arm, step in asked]


def parted(samples: list[Sample], gap_nats: float | None) -> list[Parting]:
    return [found.parting(gap_nats) for found in differences(samples)]


def test_equal_answers_prove_nothing_wrong() -> None:
    assert differences(run()) == []
    assert wrong_answers(run(), []) == ()


@pytest.mark.parametrize(
    ("gap", "rounding"),
    [(0.0, True), (0.125, True), (GAP_NATS, True), (GAP_NATS + 1e-6, False), (3.0, False), (None, False)],
)
def test_the_line_between_rounding_and_wrong_kv(gap: float | None, rounding: bool) -> None:
    assert is_rounding(gap) is rounding
    samples = run(control_cold=(7, 5, 5))
    assert bool(wrong_answers(samples, parted(samples, gap))) is not rounding


@pytest.mark.parametrize("name", ["control_cold", "control_evicted_recompute", "lmcache_ssd_after_restart"])
def test_other_shapes_arms_and_processes_may_part_at_a_near_tie(name: str) -> None:
    samples = run(**{name: (7, 8, 3)})
    assert wrong_answers(samples, parted(samples, 0.1)) == ()
    (line,) = wrong_answers(samples, parted(samples, 0.8))
    assert "at place 2, 0.80 nats apart: rounding explains 0.5 at most, so the KV was wrong" in line


def test_all_that_comes_from_kept_kv_may_part_from_cold_together() -> None:
    reused = dict.fromkeys(("lmcache_gpu_hit", "lmcache_cpu_hit", "lmcache_ssd_reuse"), (7, 8, 3))
    samples = run(**reused)
    assert wrong_answers(samples, parted(samples, 0.1)) == ()


@pytest.mark.parametrize("gap", [0.0, 0.1, 5.0, None])
def test_the_same_tail_over_the_same_kv_must_agree_to_the_token_however_near_the_tie(gap: float | None) -> None:
    samples = run(lmcache_ssd_reuse=(7, 8, 3))
    told = wrong_answers(samples, parted(samples, gap))
    assert "lmcache ssd_reuse generated other tokens than gpu_hit over the same KV" in told[0]


def test_another_tail_is_another_shape() -> None:
    samples = run(lmcache_ssd_reuse=(7, 8, 3))
    loaded = samples[3].evidence
    shorter = replace(loaded.counters, external_hits=loaded.counters.external_hits - 256)
    samples[3] = replace(samples[3], evidence=replace(loaded, counters=shorter))
    assert wrong_answers(samples, parted(samples, 0.1)) == ()


def test_what_could_not_be_asked_is_not_called_rounding() -> None:
    samples = run(control_cold=(9, 9, 9))
    (line,) = wrong_answers(samples, [])
    assert "how far the two lie apart is not known" in line


@pytest.mark.parametrize(
    ("first", "other", "position"), [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1,), 1)]
)
def test_where_two_answers_part(first: tuple[int, ...], other: tuple[int, ...], position: int | None) -> None:
    assert first_difference(first, other) == position
