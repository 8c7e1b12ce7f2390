"""The doctor's words, one file a language; ids and values come from the code."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "en.toml", "zh-TW": "zh_tw.toml"}


def text(key: str, language: str, values: dict[str, Any]) -> str:
    """The words of ``key``, dots between its parts, with ``values`` filled in; a value can be one for each language."""
    found: Any = all_texts(language)
    for part in key.split("."):
        found = found[part]
    return str(found).format(**values_in(language, values))


def values_in(language: str, values: dict[str, Any]) -> dict[str, Any]:
    """``values`` with the words of ``language`` where one has them in each."""
    return {name: value[language] if isinstance(value, dict) else value for name, value in values.items()}


@cache
def all_texts(language: str) -> dict[str, Any]:
    """Everything the doctor can say in ``language``, one of LANGUAGES."""
    return tomllib.loads(files("kvtiers.words").joinpath(LANGUAGES[language]).read_text(encoding="utf-8"))
