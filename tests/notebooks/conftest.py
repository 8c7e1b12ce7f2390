"""Notebooks run headless: the app's cells run as in a browser, controls at their defaults or as a test sets them."""

import ast
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from course.notebooks.poster import lock_controls

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LANGUAGES = ("en", "zh-TW")
# Names, terms and quoted log lines stay English in Chinese; five words in a row are a sentence.
ENGLISH = re.compile(r"[A-Za-z']+(?:,? [A-Za-z']+){4,}")
CODE = re.compile(r"<(pre|code|textarea)\b.*?</\1>", re.DOTALL)
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.py"))


@dataclass(frozen=True)
class Run:
    """What a notebook defined and showed."""

    names: dict[str, Any]
    shown: str

    @property
    def prose(self) -> str:
        """What a reader reads or hears, without code."""
        page = CODE.sub(" | ", lock_controls(self.shown, {}))
        heard = re.findall(r'aria-label="([^"]*)"', page)
        return " | ".join(map(unescape, [re.sub(r"<[^>]+>", " | ", page), *heard]))

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


def run_notebook(name: str, language: str = "en", folder: Path = NOTEBOOKS, **controls: Any) -> Run:
    """Run a notebook; a keyword sets the value of the control of that name (a file: its bytes)."""
    path = folder / f"{name}.py"
    outputs, names = _run_at_defaults(path, language)
    if controls:
        overrides: dict[str, Any] = {}
        for cell in _cells(path):
            if cell & controls.keys():
                overrides |= {defined: names[defined] for defined in cell}
        overrides |= {control: _set_to(value) for control, value in controls.items()}
        outputs, names = _run(path, language, overrides)
    return Run(dict(names), "\n".join(getattr(output, "text", str(output)) for output in outputs))


@cache
def _run_at_defaults(path: Path, language: str) -> tuple[Any, Any]:
    return _run(path, language, {})


def _run(path: Path, language: str, overrides: dict[str, Any]) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), "--language", language])
        return _load(path).run(defs=overrides)  # type: ignore[no-any-return]


def _set_to(value: Any) -> SimpleNamespace:
    return SimpleNamespace(value=value, contents=lambda: value)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"notebook_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


def _cells(path: Path) -> list[set[str]]:
    """The names each cell defines, as its last line returns them."""
    returns = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Return)]
    return [
        {element.id for element in value.elts if isinstance(element, ast.Name)}
        for value in returns
        if isinstance(value, ast.Tuple)
    ]


Runner = Callable[..., Run]


@pytest.fixture
def run() -> Runner:
    """``run(name, language, control=value, …)``."""
    return run_notebook


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each notebook's name."""
    return str(request.param)


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Each language."""
    return str(request.param)
