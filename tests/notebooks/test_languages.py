"""Each text of a notebook stands in both languages, side by side, and a run shows one of them."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.notebooks.conftest import ENGLISH, NAMES, NOTEBOOKS, Runner

HAN = re.compile(r"[\u4e00-\u9fff]")
# A Chinese character and a Latin letter or digit side by side, without the space that separates them.
UNSPACED = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]")
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:!?]|[,;:!?][\u4e00-\u9fff]")


class Pair(NamedTuple):
    """What a ``say`` is given."""

    english: ast.expr
    chinese: ast.expr


def tree(name: str) -> ast.Module:
    return ast.parse((NOTEBOOKS / f"{name}.py").read_text(encoding="utf-8"))


def pairs(name: str) -> Iterator[Pair]:
    for call in ast.walk(tree(name)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("say", "say.md", "say.slider", "say.dropdown"):
            yield Pair(*call.args[:2])
        elif isinstance(call, ast.Call) and ast.unparse(call.func) == "refuse":
            yield Pair(*call.args[1:3])


def words(text: ast.AST) -> str:
    """A text as it is read, without the values that are filled in."""
    return "\n".join(str(part.value) for part in ast.walk(text) if isinstance(part, ast.Constant))


def values(text: ast.expr) -> set[str]:
    """What is filled in."""
    return {ast.unparse(part) for part in ast.walk(text) if isinstance(part, ast.FormattedValue)}


def is_chinese(part: ast.AST) -> bool:
    return isinstance(part, ast.Constant) and bool(HAN.search(words(part)))


def test_there_is_one_notebook_a_lesson() -> None:
    assert len(NAMES) == 8


def test_both_languages_fill_in_the_same_values(name: str) -> None:
    for english, chinese in pairs(name):
        assert values(english) == values(chinese), words(english)


def test_no_chinese_stands_without_its_english(name: str) -> None:
    beside = [part for _, chinese in pairs(name) for part in ast.walk(chinese)]
    everything = list(ast.walk(tree(name)))
    in_pairs, in_all = ([words(part) for part in parts if is_chinese(part)] for parts in (beside, everything))
    assert sorted(in_pairs) == sorted(in_all)


@pytest.mark.parametrize("pattern", [UNSPACED, HALF_WIDTH], ids=["spaces", "punctuation"])
def test_chinese_is_set_as_in_taiwan(name: str, pattern: re.Pattern[str]) -> None:
    for _, chinese in pairs(name):
        assert not pattern.search(words(chinese)), words(chinese)


def test_a_run_shows_one_language(run: Runner, name: str) -> None:
    assert HAN.findall(run(name, "en").prose) == []
    assert ENGLISH.findall(run(name, "zh-TW").prose) == []


def test_every_notebook_says_how_to_run_it(run: Runner, name: str, language: str) -> None:
    option = {"en": "", "zh-TW": " -- --language zh-TW"}[language]
    assert f"<code>uvx marimo edit --sandbox notebooks/{name}.py{option}</code>" in run(name, language).shown


def test_every_notebook_names_kvtiers_beside_it(name: str) -> None:
    header = (NOTEBOOKS / f"{name}.py").read_text(encoding="utf-8").partition("# ///\n\n")[0].splitlines()
    assert '#     "kvtiers",' in header
    assert '# kvtiers = { path = "..", editable = true }' in header


@pytest.mark.parametrize("options", [["--language", "fr"], ["--language"], ["--language=zh"]])
def test_a_script_asked_for_another_language_ends_with_one_message(options: list[str]) -> None:
    done = python(str(NOTEBOOKS / "01_first_token.py"), *options)
    assert done.returncode == 1
    assert re.fullmatch(r"--language must be en or zh-TW, not '\w*'\n", done.stderr)


def test_a_page_asked_for_another_language_shows_one_message(tmp_path: Path) -> None:
    # marimo leaves what it remembers of a notebook beside it.
    notebook, page = tmp_path / "notebook.py", tmp_path / "page.html"
    notebook.write_text((NOTEBOOKS / "01_first_token.py").read_text(encoding="utf-8"), encoding="utf-8")
    python("-m", "marimo", "export", "html", str(notebook), "-o", str(page), "--", "--language", "fr")
    assert len(re.findall(r"--language must be en or zh-TW, not", page.read_text(encoding="utf-8"))) == 1


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python beside this one that finds kvtiers."""
    environment = {**os.environ, "PYTHONPATH": str(NOTEBOOKS.parent)}
    return subprocess.run([sys.executable, *arguments], check=False, env=environment, capture_output=True, text=True)
