"""A lesson's questions, rendered for one language. Data: `lessons/NN-slug/quiz.yaml`."""

import re
from dataclasses import dataclass
from pathlib import Path

from course.lessons.data import load_yaml
from course.lessons.text import Text

# In an answer to choose, a link would take the click, and mark the answer that a claim backs.
LINK = re.compile(r"</?a\b[^>]*>")


@dataclass(frozen=True)
class Option:
    """One answer, as HTML."""

    key: str
    say: str
    why: str
    best: bool


@dataclass(frozen=True)
class Question:
    """One question, as HTML. ``exhibit`` is plain text, empty where there is none."""

    id: str
    kind: str
    ask: str
    exhibit: str
    options: tuple[Option, ...]

    @property
    def best(self) -> str:
        return next(option.key for option in self.options if option.best)


def load_quiz(path: Path, language: str, text: Text) -> tuple[Question, ...]:
    """The lesson's questions in one language.

    Raises:
        CourseError: naming the file and what is wrong in it.
    """
    return tuple(
        Question(
            question["id"],
            question["kind"],
            text.html(question["ask"][language]),
            question.get("exhibit", ""),
            tuple(
                Option(
                    key,
                    LINK.sub("", text.inline(option["say"][language])),
                    text.inline(option["why"][language]),
                    key == question["best"],
                )
                for key, option in sorted(question["options"].items())
            ),
        )
        for question in load_yaml(path, "quiz")
    )
