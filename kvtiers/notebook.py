"""What the course's notebooks share: both languages side by side, and how input is refused. Needs marimo."""

import sys
from dataclasses import dataclass

import marimo as mo

from kvtiers.errors import KvtiersError
from kvtiers.words import LANGUAGES


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


def speaker(language: str) -> Say:
    """What says everything in ``language``; any but LANGUAGES ends the notebook's run with one message."""
    if language not in LANGUAGES:
        message = f"--language must be {' or '.join(LANGUAGES)}, not {language!r}"
        mo.stop(mo.running_in_notebook(), mo.callout(message, kind="danger"))
        sys.exit(message)  # a script shows no callout
    return Say(language)


def refuse(title: str, error: KvtiersError) -> None:
    """Put ``title`` and the error's message in the cell's place, and run nothing that depends on it."""
    mo.stop(True, mo.callout(mo.vstack([title, mo.plain_text(str(error))]), kind="danger"))
