"""What search needs: the sections it finds, as JSON, and the library that indexes them when a reader opens search."""

import json
import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from course.downloads import find_download, unpack_tar
from course.fetch import fetch
from course.lessons.pages import LANGUAGES, load_strings
from course.lessons.reading import Reading

SECTION = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')
BLOCK = re.compile(r"</?(?:p|li|ol|ul|h\d|pre|table|thead|tbody|tr|th|td|blockquote|br)\b[^>]*>")


def write_index(reading: Reading, site: Path, path: Path) -> None:
    """Write ``[language, address, page title, section title, text]`` for every section of the lessons, question of the
    quiz (without its explanations: they give the answer away), entry, claim, and the version pairs."""
    sections = [section for language in LANGUAGES for section in _sections(reading, site, language)]
    path.write_text(json.dumps(sections, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def write_library(site: Path, cache: Path, path: Path) -> None:
    """Write MiniSearch, as one module."""
    library = find_download(site / "runtime" / "downloads.json", "minisearch")
    unpack_tar(fetch([library], cache / "downloads")[library.file], cache / "search", "package/dist/es/")
    shutil.copy(cache / "search" / "index.js", path)


def _sections(reading: Reading, site: Path, language: str) -> Iterator[tuple[str, str, str, str, str]]:
    words = load_strings(site)[language]
    for lesson in reading.lessons[language]:
        address = f"{language}/{lesson.slug}/"
        page = f"{lesson.number} · {lesson.title}"
        opening, *rest = SECTION.split(lesson.body)
        yield language, address, page, lesson.title, _plain(opening)
        for anchor, title, body in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
            yield language, f"{address}#{anchor}", page, _plain(title), _plain(body)
        for question in lesson.quiz:
            text = _plain(f"{question.exhibit} {' '.join(f'<p>{option.say}</p>' for option in question.options)}")
            yield language, f"{language}/quiz/#q-{question.id}", words["quiz_all"], _plain(question.ask), text
    for name, entries in (("glossary", reading.glossary), ("questions", reading.questions)):
        for entry in entries[language]:
            yield language, f"{language}/{name}/#{entry.id}", words[name], entry.title, _plain(entry.text)
    for claim in reading.claims.values():
        text = f"{claim.value} · {reading.texts[language].standing(claim)}"
        yield language, f"{language}/claims/#{claim.id}", words["claims"], claim.statement[language], text
    yield language, f"{language}/version-pairs/", words["pairs"], words["pairs"], _plain(reading.pairs[language])


def _plain(html: str) -> str:
    """Text only: a space where a block ends, none where a link or code does, for Chinese has none between words."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", BLOCK.sub(" ", html))).split())
