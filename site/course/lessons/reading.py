"""Everything there is to read: lessons with their quizzes, the quiz page, glossary, questions, the ledger of claims."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from course.errors import CourseError
from course.lessons.claims import Claim, load_claims
from course.lessons.data import load_yaml
from course.lessons.pages import LANGUAGES, Lesson, Pages, load_lessons, load_strings
from course.lessons.pairs import version_pairs
from course.lessons.tables import tables
from course.lessons.text import Text
from course.notebooks.saved import Saved
from course.notebooks.share import first_chart

HOME_CHART = "06_prove_it"
KINDS = ("measured", "computed", "assumed", "source", "reported")


@dataclass(frozen=True)
class Entry:
    """A heading with a text, as HTML: a term of the glossary, or a common question and its answer."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Reading:
    """The course's texts, rendered, by language."""

    claims: dict[str, Claim]
    pairs: dict[str, str]
    texts: dict[str, Text]
    lessons: dict[str, list[Lesson]]
    glossary: dict[str, list[Entry]]
    questions: dict[str, list[Entry]]


def load_reading(project: Path, site: Path) -> Reading:
    """Read and render everything below `lessons/`.

    Raises:
        CourseError: naming the file and what is wrong in it.
    """
    folder, results = project / "lessons", project / "lab" / "results" / "reference"
    claims = load_claims(folder / "claims.yaml", results)
    terms = [entry["id"] for entry in load_yaml(folder / "glossary.yaml", "entries")]
    texts = {
        language: Text(
            claims,
            terms,
            tables(results, words, language),
            {kind: words[f"kind_{kind}"] for kind in KINDS},
            language,
        )
        for language, words in load_strings(site).items()
    }
    return Reading(
        claims,
        {language: version_pairs(words, language) for language, words in load_strings(site).items()},
        texts,
        load_lessons(folder, texts),
        _entries(folder / "glossary.yaml", texts),
        _entries(folder / "questions.yaml", texts),
    )


def _entries(path: Path, texts: Mapping[str, Text]) -> dict[str, list[Entry]]:
    entries = load_yaml(path, "entries")
    try:
        return {
            language: [
                Entry(entry["id"], entry["title"][language], text.html(entry["text"][language])) for entry in entries
            ]
            for language, text in texts.items()
        }
    except CourseError as error:
        raise CourseError(f"{path.name}: {error}") from error


def by_lesson(claims: Mapping[str, Claim], course: Sequence[Lesson]) -> list[tuple[Lesson | None, list[Claim]]]:
    """The ledger parted by the first lesson that states each claim; last, without a lesson, those that none does."""
    stated: dict[Lesson | None, list[Claim]] = {lesson: [] for lesson in [*course, None]}
    for claim in claims.values():
        first = next((lesson for lesson in course if f'claims/#{claim.id}"' in lesson.html), None)
        stated[first].append(claim)
    return [(lesson, entries) for lesson, entries in stated.items() if entries]


def with_lessons(view: str, course: Sequence[Lesson]) -> str:
    """A saved view in which a lesson's folder, as the doctor names it, is a link with the lesson's title."""
    for lesson in course:
        link = f'<a href="../{lesson.slug}/">{lesson.number} · {escape(lesson.title)}</a>'
        view = link.join(re.split(rf"(?<![\w/-]){lesson.slug}(?![\w/-])", view))
    return view


def _linked(data: Any, course: Sequence[Lesson]) -> Any:
    """The same, with links to lessons in each text."""
    if isinstance(data, str):
        return with_lessons(data, course)
    if isinstance(data, dict):
        return {key: _linked(value, course) for key, value in data.items()}
    return [_linked(value, course) for value in data] if isinstance(data, (list, tuple)) else data


def write_reading(
    reading: Reading,
    saved: Mapping[tuple[str, str], Saved],
    pictures: Mapping[tuple[str, str], str],
    start: str,
    pages: Pages,
) -> None:
    """Write every page; ``saved`` holds what is saved of the notebooks, ``pictures`` the file names of the lessons'
    pictures where there is one, both by language and notebook; ``start`` is the tag that starts a lesson's Python."""
    charts = {language: first_chart(saved[language, HOME_CHART].view) for language in LANGUAGES}
    first = LANGUAGES[0]
    pages.write_entrance("home.html.j2", lessons=reading.lessons[first], picture=charts[first])
    pages.write_missing("missing.html.j2")
    for language, course in reading.lessons.items():
        pages.write("home.html.j2", "", language, lessons=course, picture=charts[language])
        pages.write("quiz.html.j2", "quiz/", language, lessons=course)
        pages.write("result.html.j2", "quiz/result/", language, lessons=course)
        for name, entries in (("glossary", reading.glossary), ("questions", reading.questions)):
            pages.write("entries.html.j2", f"{name}/", language, name=name, entries=entries[language])
        ledger, proof = by_lesson(reading.claims, course), reading.texts[language].proof
        pages.write("claims.html.j2", "claims/", language, ledger=ledger, proof=proof)
        pages.write("pairs.html.j2", "version-pairs/", language, table=reading.pairs[language])
        for place, lesson in enumerate(course):
            notebook = saved[language, lesson.notebook]
            pages.write_data(f"{lesson.slug}/moves.bin", language, _linked(notebook.moves, course))
            pages.write(
                "lesson.html.j2",
                f"{lesson.slug}/",
                language,
                lesson=lesson,
                lessons=course,
                body=lesson.body,
                before=course[place - 1] if place else None,
                after=course[place + 1] if place + 1 < len(course) else None,
                notebook=f"notebooks/{language}/{lesson.notebook}",
                saved=with_lessons(notebook.view, course),
                start=start,
                picture=pictures.get((language, lesson.notebook), "course.png"),
            )
    pages.write_sitemap()
