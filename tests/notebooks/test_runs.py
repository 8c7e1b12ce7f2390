import ast
import re

from kvtiers.result.schema import dump
from tests.core import builders
from tests.core.phone import illegible
from tests.notebooks.conftest import NOTEBOOKS, Runner

RESULT = dump(builders.result())


def test_runs_and_draws_in_both_languages(run: Runner, name: str, language: str) -> None:
    shown = run(name, language, **({"dropped": RESULT.encode()} if name == "06_prove_it" else {})).shown
    # 05 shows settings, all others a chart at once.
    assert 'role="img"' in shown or name == "05_wire_it"
    assert "Traceback" not in shown


def test_charts_are_legible_on_a_phone(run: Runner, name: str, language: str) -> None:
    for chart in re.findall(r'<svg\b[^>]*role="img".*?</svg>', run(name, language).shown, re.DOTALL):
        assert list(illegible(chart)) == []


def test_a_chart_shows_itself(name: str) -> None:
    """Wrapped in mo.Html it would be no plain str, which marimo's encoder in the browser does not show."""
    tree = ast.parse((NOTEBOOKS / f"{name}.py").read_text(encoding="utf-8"))
    calls = [call for call in ast.walk(tree) if isinstance(call, ast.Call)]
    wrapped = [ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "mo.Html"]
    assert [text for text in wrapped if text.startswith("charts.")] == []
