"""A run of ``lab survive`` as a file and as a table."""

import json
from dataclasses import replace

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import Host, Versions, dump
from kvtiers.result.survival import COLUMNS, SCHEMA, Outcome, Scenario, Survival, read_survival, table
from kvtiers.words import LANGUAGES
from lab.survive.scenarios import HAPPENS

FOUND = Outcome(Scenario.BOTH_RESTART, 1330, 1280, True, 1280, 0, 1280, True, 0.9, 0.1)
RUN = Survival(
    SCHEMA,
    "2026-11-30T12:00:00+00:00",
    Versions("0.32.0", "0.5.6", "2.13.0", "3.11", "1"),
    Host("cpu", 2, 1, "", "Linux", "drive", "ext4"),
    "tiny",
    256,
    (FOUND,),
    (),
)


def test_every_scenario_happens() -> None:
    assert set(HAPPENS) == set(Scenario)


def test_a_file_reads_back_as_it_was_written() -> None:
    assert read_survival(dump(RUN)) == RUN


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({"schema": "kvtiers.lab-result/2"}), "{"])
def test_another_file_is_one_message(text: str) -> None:
    with pytest.raises(KvtiersError, match=r"not a result of|not valid JSON|must hold a JSON object"):
        read_survival(text)


@pytest.mark.parametrize(
    "change",
    [{"loaded_tokens": 1024}, {"same_answer": False}, {"expected_same_answer": False}, {"loaded_tokens": 1536}],
)
def test_tokens_and_answer_decide_whether_it_went_as_expected(change: dict[str, object]) -> None:
    assert RUN.met
    assert not replace(RUN, outcomes=(FOUND, replace(FOUND, **change))).met  # type: ignore[arg-type]


def test_a_run_that_broke_off_proves_nothing() -> None:
    assert not replace(RUN, problems=("the server was killed",)).met


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_scenario_has_its_words(language: str) -> None:
    outcomes = tuple(replace(FOUND, scenario=scenario) for scenario in Scenario)
    head, *rows = table(replace(RUN, outcomes=outcomes), language)
    assert len(head) == len(COLUMNS)
    assert len({row[0] for row in rows}) == len(Scenario)
