"""The doctor's exam: its tables are sound, docs show the score as it is, and the two ways to do harm stay bounded."""

from functools import cache
from pathlib import Path

import pytest

from bench.doctor import (
    CASES,
    DOCUMENTS,
    WORKS,
    Example,
    Mark,
    Origin,
    Said,
    Score,
    ask,
    cases,
    judge,
    shown,
)
from kvtiers.lint.findings import RULES
from kvtiers.words import all_texts
from lab.paths import REPOSITORY
from lab.report.documents import filled

MOST_FALSE_WORKS, MOST_FALSE_ALARMS, LEAST_RIGHT_PERCENT = 0, 0, 90


@cache
def result() -> Score:
    return Score({case: ask(case) for case in cases()})


def test_no_more_harm_than_bounded() -> None:
    assert result().harm["false_works"] <= MOST_FALSE_WORKS
    assert result().harm["false_alarms"] <= MOST_FALSE_ALARMS


def test_as_often_right_as_bounded() -> None:
    assert 100 * result().count(Mark.RIGHT) >= LEAST_RIGHT_PERCENT * result().count()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_docs_show_the_score(name: str) -> None:
    written = (REPOSITORY / name).read_text(encoding="utf-8")
    assert "<!-- figures: doctor -->" in written
    assert written == filled(name, {"doctor": shown(result(), DOCUMENTS[name])}), "run python -m bench.doctor --write"


def test_every_input_is_a_case_and_every_case_has_its_input() -> None:
    asked = [file for case in cases() for file in case.files]
    assert [file for file in asked if not file.is_file()] == []
    inputs = {path for path in CASES.rglob("*") if path.is_file() and path.parent != CASES}
    assert inputs - set(asked) == set()


def test_ids_in_the_tables_exist() -> None:
    known = set(RULES) | set(all_texts("en")["log"]["conclusion"])
    asked = {id_ for case in cases() for name in (*case.want, *case.never) for id_ in name.split("|")}
    assert asked - known == set()


def test_every_case_says_where_it_comes_from_and_asks_for_something() -> None:
    for case in cases():
        assert case.source
        assert case.right.endswith(".") or case.origin is Origin.SHARED
        assert case.want or case.never or case.clean or case.says or case.exit is not None


def case(**keys: object) -> Example:
    return Example(Origin.PUBLIC, "lint", (Path("x"),), "s", "r.", **keys)  # type: ignore[arg-type]


def answer(status: int, *reported: str, words: str = "", severity: str = "error") -> Said:
    return Said(status, frozenset((name, severity) for name in reported), words)


FAILS = {"never": WORKS, "exit": 1, "says": ("out of memory|OOM",)}


@pytest.mark.parametrize(
    ("asked", "said", "verdict"),
    [
        (case(want=("a|b",), exit=1), answer(1, "b"), Mark.RIGHT),
        (case(want=("a", "b"), exit=1), answer(1, "b"), Mark.PARTLY),
        (case(want=("a",), exit=1), answer(0), Mark.WRONG),
        (case(want=("a",), exit=1), answer(2), Mark.PARTLY),
        (case(says=("KVBM",), exit=2), answer(2, words="this is kvbm"), Mark.RIGHT),
        (case(says=("put",)), answer(0, words="it was computed"), Mark.PARTLY),
        (case(says=("regist",)), answer(0, words="two were registered"), Mark.RIGHT),
        (case(says=("KVBM",), exit=2), answer(0, words="this is kvbm"), Mark.WRONG),
        (case(clean=True), answer(1, "a", severity="note"), Mark.RIGHT),
        (case(clean=True), answer(1, "a", severity="warning"), Mark.WRONG),
        (case(clean=True), answer(2), Mark.PARTLY),
        (case(**FAILS), answer(1, "dead", words="CUDA out of memory"), Mark.RIGHT),
        (case(**FAILS), answer(1, "dead"), Mark.PARTLY),
        (case(**FAILS), answer(1, "works", words="CUDA out of memory"), Mark.WRONG),
        (case(), answer(-1), Mark.WRONG),
    ],
)
def test_verdicts(asked: Example, said: Said, verdict: Mark) -> None:
    assert judge(asked, said) is verdict


def test_harm_is_counted() -> None:
    counted = Score(
        {
            case(**FAILS): answer(1, "works"),
            case(want=("works",), exit=0): answer(0, "works"),
            case(clean=True): answer(1, "secret", severity="warning"),
            case(clean=True, exit=0): answer(2),
        }
    )
    assert counted.harm == {"false_works": 1, "failing": 1, "false_alarms": 1, "refused": 1, "good": 2}
