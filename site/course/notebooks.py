"""Exports the marimo notebooks to browser pages that share one frontend and one Python.

marimo's own `export html-wasm` writes each notebook with its own copy of everything. Here the frontend's files lie once
in `marimo/`, the runtime once in `python-HASH/`, and a page is only its HTML.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from course.errors import CourseError

SCRIPT_HEADER = re.compile(r"\A# /// script\n(?:#.*\n)*?# ///\n+")
MOUNT = '<marimo-wasm hidden="">'
READ, EDIT = '"mode": "read"', '"mode": "edit"'


@dataclass(frozen=True)
class Notebook:
    """A notebook of the course, in one language."""

    path: Path
    language: str

    @property
    def name(self) -> str:
        """File name without .py, e.g. ``02_kv_size``."""
        return self.path.stem


def find_notebooks(folder: Path) -> list[Notebook]:
    """Every notebook below `folder`, sorted."""
    return [Notebook(path, path.parent.name) for path in sorted(folder.glob("*/[0-9][0-9]_*.py"))]


def without_header(source: str) -> str:
    """The notebook without its PEP 723 header: in the browser all it names is there, and nothing may be fetched."""
    return SCRIPT_HEADER.sub("", source)


def with_wheel(source: str, wheel_url: str) -> str:
    """The notebook to download: its header names the kvtiers wheel at `wheel_url`.

    Raises CourseError when the header has no kvtiers line to replace.
    """
    changed, count = re.subn(r'^(#\s+")kvtiers[^"]*(",?)$', rf"\1kvtiers @ {wheel_url}\2", source, flags=re.MULTILINE)
    if count != 1:
        raise CourseError('the notebook\'s header needs one dependency line `#     "kvtiers…",`')
    return changed


def export_notebooks(notebooks: list[Notebook], runtime: str, site: Path) -> None:
    """Write `notebooks/LANG/NAME/{index,edit}.html` and the shared frontend into `site`.

    `runtime` is the runtime's folder name in `site`.
    """
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(2) as pool:
        exports = list(pool.map(lambda notebook: _export(notebook, Path(work)), notebooks))
        for notebook, export in zip(notebooks, exports, strict=True):
            page = _relocate((export / "index.html").read_text(), runtime)
            folder = site / "notebooks" / notebook.language / notebook.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "index.html").write_text(page)
            (folder / "edit.html").write_text(_replace_once(page, READ, EDIT))
        shutil.copytree(exports[0], site / "marimo", ignore=shutil.ignore_patterns("index.html", "*.md"))


def _export(notebook: Notebook, work: Path) -> Path:
    source = work / notebook.language / f"{notebook.name}.py"
    source.parent.mkdir(exist_ok=True)
    source.write_text(without_header(notebook.path.read_text()))
    out = source.with_suffix("")
    command = [sys.executable, "-m", "marimo", "export", "html-wasm", str(source), "--output", str(out)]
    done = subprocess.run([*command, "--mode", "run", "--force"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CourseError(f"marimo could not export {notebook.path}:\n{done.stderr[-2000:]}")
    return out


def _relocate(page: str, runtime: str) -> str:
    up = "../../.."
    urls = (
        f'data-pyodide-index-url="{up}/{runtime}/" '
        f'data-pyodide-lockfile-url="{up}/{runtime}/pyodide-lock.json" '
        f'data-pypi-index-url="{up}/{runtime}/none/"'
    )
    page = _replace_once(page, MOUNT, f'<marimo-wasm hidden="" {urls}>')
    return re.sub(r'(href|src)="\./', rf'\1="{up}/marimo/', page)


def _replace_once(page: str, old: str, new: str) -> str:
    if page.count(old) != 1:
        raise CourseError(f"marimo's exported page has changed: {old} stands in it {page.count(old)} times, not once")
    return page.replace(old, new)
