"""The two languages of a notebook are one notebook: only the texts in its first cell differ."""

import ast
import re
import string
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
HAN = re.compile(r"[\u4e00-\u9fff]")
# A Chinese character and a Latin letter or digit side by side, without the space that separates them.
UNSPACED = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]")
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:!?]|[,;:!?][\u4e00-\u9fff]")


def split(language: str, name: str) -> tuple[dict[str, Any], str]:
    """A notebook's texts, and the rest of its source."""
    source = (NOTEBOOKS / language / f"{name}.py").read_text()
    assignments = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "t"
    ]
    (texts,) = assignments
    lines = source.splitlines()
    rest = lines[: texts.lineno - 1] + lines[texts.end_lineno :]
    return ast.literal_eval(texts.value), "\n".join(rest)


def fields(text: Any) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(str(text)) if field}


def test_the_same_notebooks_in_both_languages() -> None:
    english, chinese = ({path.name for path in (NOTEBOOKS / language).glob("*.py")} for language in ("en", "zh-TW"))
    assert english == chinese
    assert len(english) == 8


def test_only_the_texts_differ(name: str) -> None:
    assert split("en", name)[1] == split("zh-TW", name)[1]


def test_the_texts_have_the_same_keys_and_fill_in_fields(name: str) -> None:
    english, chinese = split("en", name)[0], split("zh-TW", name)[0]
    assert list(english) == list(chinese)
    for key, text in english.items():
        assert fields(text) == fields(chinese[key]), key
        assert type(text) is type(chinese[key]), key


@pytest.mark.parametrize("pattern", [UNSPACED, HALF_WIDTH], ids=["spaces", "punctuation"])
def test_chinese_is_set_as_in_taiwan(name: str, pattern: re.Pattern[str]) -> None:
    for key, text in split("zh-TW", name)[0].items():
        assert not pattern.search(str(text)), f"{key}: {pattern.search(str(text))}"


def test_no_english_text_holds_chinese(name: str) -> None:
    assert not [key for key, text in split("en", name)[0].items() if HAN.search(str(text))]


def test_every_notebook_says_how_to_run_it(name: str, language: str) -> None:
    texts, rest = split(language, name)
    assert f"uvx marimo edit --sandbox notebooks/{language}/{name}.py" in texts["run"]
    assert '#     "kvtiers",' in rest.splitlines()
