"""Renders lessons, landing pages and the 404 page with Jinja2 and markdown-it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

from course.errors import CourseError

LANGUAGES = ("en", "zh-TW")
LESSON_FOLDER = re.compile(r"(\d\d)-([a-z0-9-]+)")


@dataclass(frozen=True)
class Lesson:
    """One lesson in one language."""

    slug: str
    language: str
    title: str
    summary: str
    body: str

    @property
    def number(self) -> int:
        """1 to 8."""
        return int(self.slug[:2])

    @property
    def notebook(self) -> str:
        """The notebook's file name without .py."""
        return self.slug.replace("-", "_")


def load_lessons(folder: Path) -> dict[str, list[Lesson]]:
    """All lessons by language, in order.

    Raises CourseError when a language lacks a lesson or a page has no title.
    """
    folders = sorted(path for path in folder.iterdir() if LESSON_FOLDER.fullmatch(path.name))
    return {language: [_load(path, language) for path in folders] for language in LANGUAGES}


def _load(folder: Path, language: str) -> Lesson:
    page = folder / f"{language}.md"
    if not page.is_file():
        raise CourseError(f"{folder.name} has no {page.name}: every lesson exists in both languages")
    title, _, text = page.read_text().partition("\n")
    if not title.startswith("# "):
        raise CourseError(f"{page} must start with its title: # …")
    summary = text.strip().split("\n\n")[0].replace("\n", " ")
    markdown = MarkdownIt("commonmark").enable("table")
    return Lesson(folder.name, language, title.removeprefix("# ").strip(), summary, markdown.render(text))


class Pages:
    """Writes HTML pages from the templates in `site/templates`."""

    def __init__(self, site: Path, out: Path) -> None:
        loader = FileSystemLoader(site / "templates")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        self._strings = {
            language: tomllib.loads((site / "strings" / f"{language}.toml").read_text()) for language in LANGUAGES
        }
        self._out = out

    def write(self, template: str, address: str, language: str, **values: object) -> None:
        """Render `template` to `address`, e.g. ``en/02-kv-size/index.html``; links are relative to it."""
        path = self._out / address
        path.parent.mkdir(parents=True, exist_ok=True)
        other = LANGUAGES[1 - LANGUAGES.index(language)]
        page = self._templates.get_template(template).render(
            t=self._strings[language],
            language=language,
            other=other,
            root="../" * address.count("/") or "./",
            **values,
        )
        path.write_text(page)
