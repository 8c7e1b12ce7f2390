"""Exports the marimo notebooks to browser pages that share one frontend and one Python.

marimo's own `export html-wasm` writes each notebook with its own copy of everything. Here the frontend's files lie once
in `marimo-HASH/`, the runtime once in `python-HASH/`, and a page is only its HTML.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from course.errors import CourseError
from course.frontend import Frontend, build_frontend
from course.policy import EDITOR, NOTEBOOK, with_policy

SCRIPT_HEADER = re.compile(r"\A# /// script\n(?:#.*\n)*?# ///\n+")
MOUNT = '<marimo-wasm hidden="">'
UP = "../../.."
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

    @property
    def folder(self) -> str:
        """Where its pages are on the site."""
        return f"notebooks/{self.language}/{self.name}"


def find_notebooks(folder: Path) -> list[Notebook]:
    """Every notebook below `folder`, sorted."""
    return [Notebook(path, path.parent.name) for path in sorted(folder.glob("*/[0-9][0-9]_*.py"))]


def without_header(source: str) -> str:
    """The notebook without its PEP 723 header: in the browser all it names is there, and nothing may be fetched."""
    return SCRIPT_HEADER.sub("", source)


def with_wheel(source: str, wheel_url: str) -> str:
    """The notebook to download: its header names the kvtiers wheel at `wheel_url` instead of the clone around it.

    Raises CourseError when the header has no kvtiers to replace.
    """
    source = re.sub(r"^#\n# \[tool\.uv\.sources\]\n# kvtiers = .*\n", "", source, flags=re.MULTILINE)
    source, count = re.subn(r'^(# +)"kvtiers",$', rf'\1"kvtiers @ {wheel_url}",', source, flags=re.MULTILINE)
    if count != 1:
        raise CourseError('a notebook header needs the dependency line `#     "kvtiers",`')
    return source


def export_notebooks(notebooks: list[Notebook], runtime: str, site: Path, cache: Path, out: Path) -> Frontend:
    """Write `notebooks/LANG/NAME/{index,edit}.html` and the shared frontend into `out`.

    `runtime` is the runtime's folder name in `out`.
    """
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(2) as pool:
        exports = list(pool.map(lambda notebook: _export(notebook, Path(work)), notebooks))
        frontend = build_frontend(exports[0], version("marimo"), site, cache, out)
        for notebook, export in zip(notebooks, exports, strict=True):
            page = _relocate((export / "index.html").read_text(), runtime, frontend)
            folder = out / notebook.folder
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "index.html").write_text(with_policy(page, NOTEBOOK))
            # Whoever edits may ask for a package: look nowhere else than here.
            nowhere = f'data-pypi-index-url="{UP}/{runtime}/none/"'
            editor = _replace_once(page, "<marimo-wasm ", f"<marimo-wasm {nowhere} ")
            editor = _replace_once(editor, READ, EDIT)
            (folder / "edit.html").write_text(with_policy(editor, EDITOR))
    return frontend


def _export(notebook: Notebook, work: Path) -> Path:
    source = work / notebook.language / f"{notebook.name}.py"
    source.parent.mkdir(exist_ok=True)
    source.write_text(without_header(notebook.path.read_text()))
    out = source.with_suffix("")
    export_with_marimo(source, out)
    return out


def export_with_marimo(source: Path, out: Path) -> None:
    """Run marimo's own export of `source` into the folder `out`."""
    command = [sys.executable, "-m", "marimo", "export", "html-wasm", str(source), "--output", str(out)]
    # marimo looks for uv on PATH; from a folder without kvtiers it takes kvtiers for no local package.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [*command, "--mode", "run", "--force"],
        cwd=source.parent,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CourseError(f"marimo could not export {source.name}:\n{done.stderr[-2000:]}")


def start_script(frontend: Frontend, runtime: str, root: str) -> str:
    """The tag that starts Python in a page whose way to the site's root is `root`."""
    return (
        f'<script src="{root}static/python.js" data-worker="{root}{frontend.worker}" '
        f'data-version="{frontend.version}" data-runtime="{root}{runtime}/"></script>'
    )


def _relocate(page: str, runtime: str, frontend: Frontend) -> str:
    urls = f'data-pyodide-index-url="{UP}/{runtime}/" data-pyodide-lockfile-url="{UP}/{runtime}/pyodide-lock.json"'
    page = _replace_once(page, MOUNT, f'<marimo-wasm hidden="" {urls}>')
    # marimo preloads pictures and fonts that no lesson shows, and the scripts that are merged here.
    page = re.sub(r'<link rel="preload" href="[^"]*\.(png|woff2)"[^>]*>\n? *', "", page)
    page = re.sub(r'<link rel="modulepreload"[^>]*>\n? *', "", page)
    page = re.sub(r'(href|src)="\./', rf'\1="{UP}/{frontend.folder}/', page)
    # The page around chooses light or dark: marimo follows the frame's colour scheme.
    page = _replace_once(page, '"theme": "light"', '"theme": "system"')
    early = (
        f'{start_script(frontend, runtime, f"{UP}/")}<script src="{UP}/static/notebook.js"></script>'
        f'<link rel="modulepreload" crossorigin href="{UP}/{frontend.merged}">'
    )
    look = f'<link rel="stylesheet" href="{UP}/static/notebook.css">'
    page = _replace_once(page, "</head>", f"{look}</head>")
    return _replace_once(page, '<meta charset="utf-8" />', f'<meta charset="utf-8" />{early}')


def _replace_once(page: str, old: str, new: str) -> str:
    if page.count(old) != 1:
        raise CourseError(f"marimo's exported page has changed: {old} stands in it {page.count(old)} times, not once")
    return page.replace(old, new)
