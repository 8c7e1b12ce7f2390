"""What the course's notebooks share: both languages side by side, and how input is refused. Needs marimo."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import marimo as mo

from kvtiers.errors import KvtiersError
from kvtiers.words import LANGUAGES, text
from kvtiers.words.refusals import refusal

Bound = float | None


@dataclass(frozen=True)
class Say:
    """Picks from texts that stand side by side in each language.

    >>> say = Say("zh-TW")
    >>> say("layers", "層數")
    '層數'
    """

    language: str

    def __call__(self, english: str, chinese: str) -> str:
        """The text in this language."""
        return {"en": english, "zh-TW": chinese}[self.language]

    def md(self, english: str, chinese: str) -> mo.Html:
        """The text in this language, as marimo shows Markdown."""
        return mo.md(self(english, chinese))

    def slider(
        self, english: str, chinese: str, start: Bound = None, stop: Bound = None, step: Bound = None, **options: Any
    ) -> mo.ui.slider:
        """A labelled slider that shows its value; ``options`` are marimo's own."""
        return mo.ui.slider(start, stop, step, label=self(english, chinese), show_value=True, **options)

    def dropdown(
        self, english: str, chinese: str, options: Sequence[Any] | dict[str, Any], value: Any = None
    ) -> mo.ui.dropdown:
        """A labelled dropdown, on its first option unless ``value`` names another."""
        return mo.ui.dropdown(options, value or next(iter(options)), label=self(english, chinese))

    def from_clone(self, notebook: str) -> mo.Html:
        """How to run the notebook of that name from a clone."""
        return mo.md(text("notebook.from_clone", self.language, {"notebook": notebook}))


def speaker(language: str) -> Say:
    """What says everything in ``language``; any but LANGUAGES ends the notebook's run with one message."""
    if language not in LANGUAGES:
        message = f"--language must be {' or '.join(LANGUAGES)}, not {language!r}"
        mo.stop(mo.running_in_notebook(), mo.callout(message, kind="danger"))
        sys.exit(message)  # a script shows no callout
    return Say(language)


def figures(*rows: tuple[Any, ...]) -> mo.Html:
    """A row of figures, each a value, its label and, where it has one, a caption."""
    return mo.hstack([mo.stat(*figure) for figure in rows], justify="start", wrap=True)


def refuse(say: Say, english: str, chinese: str, error: KvtiersError) -> None:
    """Put a title and the error's message in the cell's place, and run nothing that depends on it."""
    why = mo.plain_text(refusal(error, say.language))
    mo.stop(True, mo.callout(mo.vstack([say(english, chinese), why]), kind="danger"))
