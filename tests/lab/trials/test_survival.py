"""A run of ``lab survive`` or ``lab stress`` as a file and as a table."""

import json
from dataclasses import replace

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import Host, Versions, dump
from kvtiers.result.survival import (
    SCHEMA,
    Finding,
    Outcome,
    Reason,
    Reply,
    Scenario,
    Survival,
    read_survival,
    table,
)
from kvtiers.words import LANGUAGES
from lab.trials.stress import STRESS
from lab.trials.survive import SURVIVE

ALL_BACK = Finding(1280, Reply.SAME)
FOUND = Outcome(Scenario.BOTH_RESTART, 1330, ALL_BACK, ALL_BACK, 0, 1280, 0.9, 0.1)
DIES = Finding(0, Reply.FAILED, lives=False, recovers=True)
RUN = Survival(
    SCHEMA,
    "2026-11-30T12:00:00+00:00",
    Versions("0.32.0", "0.5.6", "2.13.0", "3.11", "1"),
    Host("cpu", 2, 1, "", "Linux", "drive", "ext4"),
    "tiny",
    256,
    (FOUND,),
    (),
    {},
)


def test_every_scenario_happens_in_one_of_the_two() -> None:
    assert set(SURVIVE) | set(STRESS) == set(Scenario)
    assert not set(SURVIVE) & set(STRESS)


def test_a_file_reads_back_as_it_was_written() -> None:
    stressed = replace(
        RUN,
        outcomes=(replace(FOUND, expected=DIES, found=DIES, back_s=20.0),),
        not_tried={Scenario.REDIS_FULL.value: Reason.NO_REDIS},
    )
    for run in (RUN, stressed):
        assert read_survival(dump(run)) == run


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({"schema": "kvtiers.lab-result/2"}), "{"])
def test_another_file_is_one_message(text: str) -> None:
    with pytest.raises(KvtiersError, match=r"not a result of|not valid JSON|must hold a JSON object"):
        read_survival(text)


@pytest.mark.parametrize(
    "found",
    [
        replace(ALL_BACK, tokens=1024),
        replace(ALL_BACK, reply=Reply.WRONG),
        replace(ALL_BACK, lives=False),
        replace(ALL_BACK, recovers=False),
    ],
)
def test_it_went_as_expected_only_if_all_of_it_did(found: Finding) -> None:
    assert RUN.met
    assert not replace(RUN, outcomes=(replace(FOUND, found=found),)).met


def test_where_any_number_of_tokens_may_come_back_the_answer_decides() -> None:
    anyhow = Finding(None, Reply.SAME)
    assert ALL_BACK.meets(anyhow)
    assert not replace(ALL_BACK, reply=Reply.WRONG).meets(anyhow)


@pytest.mark.parametrize(
    ("found", "met"),
    [
        (Finding(0, Reply.SAME), True),
        (Finding(0, Reply.FAILED, lives=False), True),
        (Finding(0, Reply.FAILED), False),
        (Finding(0, Reply.WRONG), False),
    ],
)
def test_where_chance_decides_a_right_answer_or_a_dead_engine_is_expected(found: Finding, met: bool) -> None:
    assert found.meets(Finding(0, None)) is met


def test_what_could_not_be_tried_is_said_and_fails_nothing() -> None:
    run = replace(RUN, not_tried={Scenario.REDIS_FULL.value: Reason.NO_REDIS})
    assert run.met
    assert "not tried: no redis-server here" in table(run, "en")[-1]


def test_a_run_that_broke_off_proves_nothing() -> None:
    assert not replace(RUN, problems=("the server was killed",)).met


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_scenario_and_reason_has_its_words(language: str) -> None:
    outcomes = tuple(replace(FOUND, scenario=scenario, expected=DIES) for scenario in Scenario)
    for reason in Reason:
        run = replace(RUN, outcomes=outcomes, not_tried={Scenario.REDIS_FULL.value: reason})
        head, *rows = table(run, language)
        assert {len(row) for row in rows} == {len(head)}
        assert len({row[0] for row in rows}) == len(Scenario)
