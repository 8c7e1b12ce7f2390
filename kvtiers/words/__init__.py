"""Every sentence of the commands, in every language; ids and values come from the code.

Most stand here, one file a language. A finding's and a log warning's stand with its other facts, in one entry.
"""

from functools import cache
from typing import Any
from unicodedata import east_asian_width

from kvtiers.tables import read_table

LANGUAGES = {"en": "en.toml", "zh-TW": "zh_tw.toml"}
_ELSEWHERE = {"finding": "lint/rules.toml", "warning": "logs/warnings.toml"}


def text(key: str, language: str, values: dict[str, Any]) -> str:
    """The words of ``key``, dots between its parts, with ``values`` filled in (in this language, or None: none)."""
    entry: Any = all_texts(language)
    for part in key.split("."):
        entry = entry[part]
    none = all_texts(language)["layout"]["none"]
    filled = values_in(language, values).items()
    return str(entry).format(**{name: none if value is None else value for name, value in filled})


def labelled(label: str, what: str | None, language: str) -> str:
    """``what`` behind its label, with the language's own colon."""
    return text("layout.labelled", language, {"label": label, "what": what})


def columns(said: str) -> int:
    """How many columns of a terminal it fills: Chinese letters take two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in said)


def values_in(language: str, values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with the words of ``language`` where one has them in each."""
    return {name: value[language] if isinstance(value, dict) else value for name, value in values.items()}


@cache
def all_texts(language: str) -> dict[str, Any]:
    """Everything that can be said in ``language``, one of LANGUAGES."""
    elsewhere = {
        name: {
            id_: {part: words[language] for part, words in entry.items() if isinstance(words, dict)}
            for id_, entry in read_table(table).items()
        }
        for name, table in _ELSEWHERE.items()
    }
    return read_table(f"words/{LANGUAGES[language]}") | elsewhere
