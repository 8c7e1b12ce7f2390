"""A lesson's Markdown as tests look at it: tokens, prose without code and roles, references."""

import re
from collections.abc import Iterator
from pathlib import Path

from course.lessons.text import parser
from markdown_it.token import Token

PROJECT = Path(__file__).parents[2]
LESSONS = PROJECT / "lessons"
SLUGS = sorted(path.name for path in LESSONS.glob("[0-9][0-9]-*"))
LANGUAGES = ("en", "zh-TW")
CLAIM = re.compile(r"\{claim\}`([a-z0-9-]+)`")
TERM = re.compile(r"\{term\}`[^`<]+ <([a-z0-9-]+)>`")
# A number in its own right: not part of a name (Qwen3-4B, fp16, V1) nor a lesson's, which has the one digit it has in
# every heading and link.
NUMBER = re.compile(r"(?<![A-Za-z0-9_.,/-])(?<!esson )(?!\d 課)\d+(?:,\d{3})*(?:\.\d+)*[kM%]?(?![A-Za-z0-9]|[,.]\d)")


def source(slug: str, language: str) -> str:
    return (LESSONS / slug / f"{language}.md").read_text()


def tokens(text: str) -> list[Token]:
    return parser().parse(text)


def prose(text: str) -> Iterator[str]:
    """Each run of text, without code, roles and links to lessons."""
    for token in tokens(text):
        if token.type == "inline":
            yield from (child.content for child in token.children or [] if child.type == "text")


def numbers(text: str) -> list[str]:
    return [match[0] for run in prose(text) for match in NUMBER.finditer(run)]
