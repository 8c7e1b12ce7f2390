"""Every id is said in every language, with the same values, without a file once the tables are read."""

import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtiers.tables import read_table, table_names
from kvtiers.words import LANGUAGES, all_texts, text

PROJECT = Path(__file__).parents[3]
ENGLISH = all_texts("en")


def keys(node: object, path: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from keys(inner, f"{path}.{name}" if path else name)
    else:
        yield path


def fields(key: str, language: str) -> set[str]:
    words: object = all_texts(language)
    for part in key.split("."):
        assert isinstance(words, dict)
        words = words[part]
    assert isinstance(words, str)
    return {field for _, field, _, _ in string.Formatter().parse(words) if field is not None}


class Anything:
    """A value for any place and format."""

    def __format__(self, spec: str) -> str:
        return "7"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_ids(language: str) -> None:
    assert set(keys(all_texts(language))) == set(keys(ENGLISH))


@pytest.mark.parametrize("key", sorted(keys(ENGLISH)))
def test_every_id_is_said_with_the_same_values_in_every_language(key: str) -> None:
    names = fields(key, "en")
    for language in LANGUAGES:
        assert fields(key, language) == names
        said = text(key, language, dict.fromkeys(names, Anything()))
        assert said.strip() == said != ""


@pytest.mark.parametrize("table", ["lint/rules.toml", "logs/warnings.toml"])
def test_texts_beside_each_other_are_in_every_language_and_no_other(table: str) -> None:
    for entry in read_table(table).values():
        texts = [words for words in entry.values() if isinstance(words, dict)]
        assert texts
        assert all(set(words) == set(LANGUAGES) for words in texts)


def test_every_table_is_known_by_its_name() -> None:
    package = PROJECT / "kvtiers"
    assert table_names() == sorted(path.relative_to(package).as_posix() for path in package.rglob("*.toml"))


WITHOUT_FILES = """
import importlib, importlib.resources, pkgutil
import kvtiers, kvtiers.tables
for name in kvtiers.tables.table_names():
    kvtiers.tables.read_table(name)
del kvtiers.tables.files, importlib.resources.files
for found in pkgutil.walk_packages(kvtiers.__path__, "kvtiers."):
    importlib.import_module(found.name)
from kvtiers.model.public import public_models
from kvtiers.settings import known, known_pairs
from kvtiers.words import LANGUAGES, all_texts
assert public_models() and known_pairs.known_pairs() and known.kinds() and all(map(all_texts, LANGUAGES))
"""


def test_once_the_tables_are_read_no_file_is_needed() -> None:
    """The browser's Python is an image of memory: the files are not in it."""
    subprocess.run([sys.executable, "-c", WITHOUT_FILES], cwd=PROJECT, check=True)
