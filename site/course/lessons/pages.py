"""Loads the lessons, and writes pages from the templates with Jinja2."""

import gzip
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from course.errors import CourseError
from course.lessons.length import reading_minutes
from course.lessons.quiz import Question, load_quiz
from course.lessons.text import Text, anchors_of, with_anchors
from course.policy import with_policy

LANGUAGES = ("en", "zh-TW")
LOCALES = {"en": "en_US", "zh-TW": "zh_TW"}
LESSON_FOLDER = re.compile(r"(\d\d)-([a-z0-9-]+)")


@dataclass(frozen=True)
class Lesson:
    """One lesson in one language."""

    slug: str
    language: str
    title: str
    summary: str
    body: str
    quiz: tuple[Question, ...]

    @property
    def number(self) -> int:
        return int(self.slug[:2])

    @property
    def notebook(self) -> str:
        """The notebook's file name without .py."""
        return self.slug.replace("-", "_")

    @property
    def html(self) -> str:
        """Its text and its questions."""
        answers = (option.say + option.why for question in self.quiz for option in question.options)
        return "".join([self.body, *(question.ask for question in self.quiz), *answers])

    @property
    def minutes(self) -> int:
        """How long it takes to read, quiz and notebook aside."""
        return reading_minutes(self.body)


def load_lessons(folder: Path, texts: Mapping[str, Text]) -> dict[str, list[Lesson]]:
    """All lessons by language, in order; ``texts`` renders each language's Markdown.

    Raises CourseError when a language lacks a lesson, a page has no title, or a quiz is malformed.
    """
    folders = sorted(path for path in folder.iterdir() if LESSON_FOLDER.fullmatch(path.name))
    anchors = {path: anchors_of(_read(path, LANGUAGES[0])[1]) for path in folders}
    return {
        language: [_load(path, language, texts[language], anchors[path]) for path in folders] for language in LANGUAGES
    }


def _read(folder: Path, language: str) -> tuple[str, str]:
    """Title and Markdown of a lesson."""
    page = folder / f"{language}.md"
    if not page.is_file():
        raise CourseError(f"{folder.name} has no {page.name}: every lesson exists in both languages")
    title, _, text = page.read_text(encoding="utf-8").partition("\n")
    if not title.startswith("# "):
        raise CourseError(f"{page} must start with its title: # …")
    return title.removeprefix("# ").strip(), text


def _load(folder: Path, language: str, renderer: Text, anchors: Sequence[str]) -> Lesson:
    title, text = _read(folder, language)
    summary = text.strip().split("\n\n")[0].replace("\n", " ")
    try:
        body = with_anchors(renderer.html(text), anchors)
    except CourseError as error:
        raise CourseError(f"{folder.name}/{language}.md: {error}") from error
    quiz = load_quiz(folder / "quiz.yaml", language, renderer)
    return Lesson(folder.name, language, title, summary, body, quiz)


def load_strings(site: Path) -> dict[str, dict[str, str]]:
    """The words of the page frame, by language."""
    return {
        language: tomllib.loads((site / "strings" / f"{language}.toml").read_text(encoding="utf-8"))
        for language in LANGUAGES
    }


class Pages:
    """Writes HTML pages from the templates in `site/templates`, for a site that will be served at `address`."""

    def __init__(self, site: Path, out: Path, address: str) -> None:
        loader = FileSystemLoader(site / "templates")
        self._templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._templates.filters["locale"] = lambda language: LOCALES[language]
        self._strings = load_strings(site)
        self._out, self._address = out, address
        self._written: list[str] = []

    def write(self, template: str, place: str, language: str, **values: object) -> None:
        """Render `template` to the folder `language`/`place`, e.g. ``en/02-kv-size/``; links are relative to it."""
        folder = f"{language}/{place}"
        page = self._render(template, folder, language, root="../" * folder.count("/"), **values)
        path = self._out / folder / "index.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
        if language == LANGUAGES[0]:
            self._written.append(place)

    def write_data(self, place: str, language: str, data: object) -> None:
        """Write `data` as JSON, packed with gzip, to the file `language`/`place`, for the scripts of a page beside it:
        they unpack it themselves, since many a host compresses nothing."""
        path = self._out / language / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        path.write_bytes(gzip.compress(text.encode(), mtime=0))

    def write_entrance(self, template: str, **values: object) -> None:
        """Render the site's own front page, which shows what the first language's does."""
        self._write_first(template, "index.html", root="./", **values)

    def write_missing(self, template: str) -> None:
        """Render the 404 page. It is shown at any address, so its links start from the site's own."""
        self._write_first(template, "404.html", root=f"{urlsplit(self._address).path}/", strings=self._strings)

    def _write_first(self, template: str, name: str, **values: object) -> None:
        page = self._render(template, f"{LANGUAGES[0]}/", LANGUAGES[0], **values)
        (self._out / name).write_text(page, encoding="utf-8")

    def write_sitemap(self) -> None:
        template = self._templates.get_template("sitemap.xml.j2")
        page = template.render(address=self._address, languages=LANGUAGES, places=self._written)
        (self._out / "sitemap.xml").write_text(page, encoding="utf-8")

    def _render(self, template: str, folder: str, language: str, **values: object) -> str:
        """`folder` is the page's own, on the site; its place in the other language has the same name."""
        other = LANGUAGES[1 - LANGUAGES.index(language)]
        page = self._templates.get_template(template).render(
            t=self._strings[language],
            language=language,
            other=other,
            languages=LANGUAGES,
            address=self._address,
            place=folder.partition("/")[2],
            **values,
        )
        return with_policy(page)
