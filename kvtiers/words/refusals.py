"""Why input was refused, in the reader's language."""

import re
import sys
from functools import cache

from kvtiers.errors import KvtiersError
from kvtiers.tables import read_table


def refusal(error: KvtiersError, language: str) -> str:
    """The error's message in ``language``; the message itself where refusals.toml has no words for it.

    >>> refusal(KvtiersError("config.json: tp must be a whole number above 0, got -1"), "zh-TW")
    'config.json：tp 必須是大於 0 的整數，現在是 -1'
    """
    return in_language(str(error), language)


def say_refusal(command: str, error: KvtiersError, language: str) -> None:
    """Write it where errors go, as every command does."""
    print(f"kvtiers {command}: {refusal(error, language)}", file=sys.stderr)


def in_language(message: str, language: str) -> str:
    """A sentence of this project's own, as ``refusal``: also why a run that is not valid proves nothing."""
    for pattern, words in _patterns(language):
        match = pattern.fullmatch(message)
        if match:
            return words.format(*(in_language(value, language) for value in match.groups()))
    return message


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    entries = read_table("words/refusals.toml").get(language, {})
    patterns = [re.escape(english).replace(r"\{\}", "(.*?)") for english in entries]
    return [(re.compile(pattern, re.DOTALL), own) for pattern, own in zip(patterns, entries.values(), strict=True)]
