"""The verdict on a pair, from what its run yields or why there is none."""

from dataclasses import replace

import pytest

from kvtiers.result.pairs import PairVerdict
from kvtiers.result.steps import Step
from kvtiers.result.survival import Finding, Outcome, Reply, Scenario, Survival
from lab.pairs.prove import cause_of, judge, judge_faults
from tests.core.builders import result

ENDED = """the lmcache engine ended with exit code 1:
  INFO starting
  ModuleNotFoundError: No module named 'vllm.utils'
  RuntimeError: it failed
The whole log: ./.lab/logs/lmcache.log"""


def test_a_valid_run_works() -> None:
    assert judge(result()) == (PairVerdict.WORKS, "")


def test_a_process_that_ends_fails_with_its_first_cause() -> None:
    broken = replace(result(), valid=False, problems=(ENDED,))
    assert judge(broken) == (PairVerdict.FAILS, "ModuleNotFoundError: No module named 'vllm.utils'")


def test_what_need_not_be_the_pairs_fault_is_unproven() -> None:
    for problem in (
        "another client used the server meanwhile",
        ENDED.replace("ended with exit code 1", "was killed by signal 9"),
    ):
        assert judge(replace(result(), valid=False, problems=(problem,)))[0] is PairVerdict.UNPROVEN


def test_other_tokens_than_cold_are_wrong_answers() -> None:
    good = result()
    samples = tuple(
        replace(each, evidence=replace(each.evidence, token_ids=(9, 9))) if each.step is Step.SSD_REUSE else each
        for each in good.samples
    )
    verdict, cause = judge(replace(good, valid=False, problems=("wrong",), samples=samples))
    assert verdict is PairVerdict.WRONG_ANSWERS
    assert "ssd_reuse" in cause


def test_a_reuse_of_nothing_never_hits() -> None:
    good = result()
    none = replace(good.samples[0].evidence.counters, external_hits=0)
    samples = tuple(replace(each, evidence=replace(each.evidence, counters=none)) for each in good.samples)
    assert judge(replace(good, valid=False, problems=("0 tokens",), samples=samples))[0] is PairVerdict.NEVER_HITS


@pytest.mark.parametrize(
    ("scenario", "found", "verdict"),
    [
        (Scenario.CHUNK_LOST, Finding(512, Reply.SAME), PairVerdict.WORKS),
        (Scenario.CHUNK_LOST, Finding(0, Reply.SAME), PairVerdict.WORKS),
        (Scenario.CHUNK_LOST, Finding(1280, Reply.WRONG), PairVerdict.WRONG_ANSWERS),
        (Scenario.CLIENT_GONE, Finding(0, Reply.FAILED, lives=False), PairVerdict.FAILS),
        (Scenario.CHUNKS_SWAPPED, Finding(1280, Reply.WRONG), PairVerdict.WORKS),
    ],
)
def test_a_fault_may_cost_time_and_nothing_else(scenario: Scenario, found: Finding, verdict: PairVerdict) -> None:
    outcome = Outcome(scenario, 1330, Finding(512, Reply.SAME), found, 0, 0, 0.9, 0.1)
    run = result()
    survival = Survival("", "", run.versions, run.machine, "tiny", 256, (outcome,), (), {})
    assert judge_faults(survival)[0] is verdict


def test_a_cause_is_one_line_and_names_the_exception_where_there_is_one() -> None:
    assert cause_of("") == ""
    assert cause_of("pip sees no CPU build") == "pip sees no CPU build"
    assert cause_of("x ended with exit code 2:\n  lmcache server: error: unrecognized arguments: --a") == (
        "lmcache server: error: unrecognized arguments: --a"
    )
