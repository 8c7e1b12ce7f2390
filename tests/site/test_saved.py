"""What is saved of a notebook is computed anew when something that it is made of has changed, and only then."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from course.notebooks.export import Notebook
from course.notebooks.loads import watched_loads
from course.notebooks.saved import save_notebooks
from course.notebooks.session import running

from progress import bars

PROJECT = Path(__file__).parents[2]
CORE = {
    "__init__.py": "",
    "used.py": "from kvtiers.deeper import table\n\n\ndef said():\n    return f'says {table()}'\n",
    "deeper.py": """from functools import cache
from importlib.resources import files


@cache
def table():
    return files("kvtiers").joinpath("data/table.toml").read_text()
""",
    "data/table.toml": "one",
    "data/other.toml": "",
    "unused.py": "",
}
NOTEBOOK = """import marimo

app = marimo.App()

with app.setup:
    import marimo as mo


@app.cell
def _():
    from kvtiers.used import said

    mo.md(f"{said()} and {(mo.notebook_dir() / 'public' / 'result.json').read_text()}")
    return
"""
Save = Callable[[], str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A core of its own, and a notebook that uses some of it."""
    for name, content in CORE.items():
        (tmp_path / "kvtiers" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kvtiers" / name).write_text(content)
    public = tmp_path / "notebooks" / "public"
    public.mkdir(parents=True)
    (public / "result.json").write_text("a result")
    (public.parent / "01_notebook.py").write_text(NOTEBOOK)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def save(project: Path) -> Save:
    """The notebook's view; what is kept of it is marked, so that one that comes from there shows."""
    notebook, cache = Notebook(project / "notebooks" / "01_notebook.py", "en"), project / "cache"

    def view() -> str:
        with bars() as shown, ThreadPoolExecutor(1) as workers:
            saved = save_notebooks([notebook], workers, cache, shown)
        (kept,) = cache.iterdir()
        record = json.loads(kept.read_text())
        record["saved"]["view"] = "kept"
        kept.write_text(json.dumps(record))
        return saved["en", "01_notebook"].view

    return view


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("kvtiers/used.py", "def said():\n    return 'says other'\n", "says other and a result"),
        ("kvtiers/deeper.py", "def table():\n    return 'two'\n", "says two and a result"),
        ("kvtiers/data/table.toml", "two", "says two and a result"),
        ("notebooks/public/result.json", "another", "says one and another"),
        ("notebooks/01_notebook.py", NOTEBOOK.replace(" and ", " or "), "says one or a result"),
    ],
)
def test_what_it_loads_has_changed(project: Path, save: Save, file: str, content: str, expected: str) -> None:
    assert "says one and a result" in save()
    assert save() == "kept"
    (project / file).write_text(content)
    assert expected in save()
    assert save() == "kept"


def test_what_it_does_not_load_may_change(project: Path, save: Save) -> None:
    save()
    for name in ("kvtiers/unused.py", "kvtiers/data/other.toml", "kvtiers/new.py", "notebooks/02_other.py"):
        (project / name).write_text("changed = 1\n")
    assert save() == "kept"
    (project / "kvtiers" / "deeper.py").unlink()
    (project / "kvtiers" / "used.py").write_text("def said():\n    return 'says less'\n")
    assert "says less" in save()


def test_a_real_notebook_rests_on_what_it_uses_however_often_its_process_has_used_it() -> None:
    notebook = PROJECT / "notebooks" / "02_kv_size.py"
    for _ in range(2):
        with watched_loads(notebook) as loads, running(notebook):
            pass
        assert {"notebooks/02_kv_size.py", "kvtiers/model/spec.py", "kvtiers/model/public_models.toml"} <= loads.keys()
        assert not [file for file in loads if file.endswith(".py") and file.startswith("kvtiers/lint/")]
