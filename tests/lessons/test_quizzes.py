"""Quizzes: complete in both languages, one best answer, every option explained."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from course.errors import CourseError
from course.lessons.quiz import load_quiz
from course.lessons.reading import Reading

from kvtiers.logs.lines import parse_lookup
from tests.lessons.prose import CLAIM, LANGUAGES, LESSONS, SLUGS

QUIZZES: dict[str, list[dict[str, Any]]] = {
    slug: yaml.safe_load((LESSONS / slug / "quiz.yaml").read_text()) for slug in SLUGS
}
ALL = [question for quiz in QUIZZES.values() for question in quiz]


def test_each_question_has_its_own_id_and_the_best_answer_moves() -> None:
    assert len({question["id"] for question in ALL}) == len(ALL) >= 24
    places = Counter(question["best"] for question in ALL)
    assert set(places) == set("abcd")
    assert max(places.values()) <= len(ALL) / 2


def test_every_kind_of_question_is_asked() -> None:
    assert {question["kind"] for question in ALL} == {"decide", "find-error", "read-log", "read-config", "compute"}


@pytest.mark.parametrize("question", [q for q in ALL if q["kind"] == "compute"], ids=lambda q: q["id"])
def test_the_answer_to_a_computation_is_a_claim(question: dict[str, Any]) -> None:
    assert CLAIM.search(question["options"][question["best"]]["say"]["en"])


@pytest.mark.parametrize("question", ALL, ids=lambda question: question["id"])
def test_both_languages_refer_to_the_same_claims(question: dict[str, Any]) -> None:
    texts = [question["ask"], *(part for option in question["options"].values() for part in option.values())]
    for text in texts:
        assert Counter(CLAIM.findall(text["en"])) == Counter(CLAIM.findall(text["zh-TW"]))


def test_logs_are_in_the_real_form() -> None:
    lines = [line for question in ALL for line in question.get("exhibit", "").splitlines()]
    in_process = [line for line in lines if "Reqid" in line]
    assert in_process
    assert all(parse_lookup(line) for line in in_process)
    server = re.compile(
        r"5/5 retained keys \(\d L1, \d L2\) in [\d.]+ ms \(external_request_id=\S+, prefetch_request_id=\d+\)$"
    )
    looked_up = [line for line in lines if "Prefetch request" in line]
    assert looked_up
    assert all(server.search(line) for line in looked_up)


def test_a_reader_sees_every_option_explained(reading: Reading) -> None:
    for language in LANGUAGES:
        for lesson in reading.lessons[language]:
            assert len(lesson.quiz) >= 3
            for question in lesson.quiz:
                assert [option.key for option in question.options] == ["a", "b", "c", "d"]
                assert sum(option.best for option in question.options) == 1
                assert all(option.why for option in question.options)
                assert not any("<a" in option.say for option in question.options), "a link marks the answer"


def broken(change: str) -> Any:
    quiz = yaml.safe_load((LESSONS / SLUGS[0] / "quiz.yaml").read_text())
    match change:
        case "two questions":
            return quiz[:2]
        case "option":
            del quiz[0]["options"]["d"]
        case "why":
            del quiz[0]["options"]["a"]["why"]["zh-TW"]
        case "best":
            quiz[0]["best"] = "e"
    return quiz


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("two questions", "too short"),
        ("option", r"0\.options: 'd' is a required property"),
        ("why", r"0\.options\.a\.why: 'zh-TW' is a required property"),
        ("best", r"0\.best: 'e' is not one of"),
    ],
)
def test_a_bad_quiz_is_named(reading: Reading, tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "quiz.yaml"
    path.write_text(yaml.safe_dump(broken(change), allow_unicode=True))
    with pytest.raises(CourseError, match=message):
        load_quiz(path, "en", reading.texts["en"])
