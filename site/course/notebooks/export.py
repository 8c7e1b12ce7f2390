"""Exports the marimo notebooks to browser pages that share one frontend and one Python.

marimo's own `export html-wasm` writes each notebook with its own copy of everything. Here the frontend's files lie once
in `marimo-HASH/`, the runtime once in `python-HASH/`, and a page is only its HTML.
"""

import contextlib
import io
import re
import shutil
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from course.errors import CourseError
from course.notebooks.frontend import Frontend
from course.policy import EDITOR, NOTEBOOK, with_policy
from progress import Bar

LANGUAGE_LINE = re.compile(r"^( *LANGUAGE = ).*$", re.MULTILINE)
SCRIPT_HEADER = re.compile(r"\A# /// script\n(?:#.*\n)*?# ///\n+")
LANGUAGE = '<html lang="en">'
MOUNT = '<marimo-wasm hidden="">'
UP = "../../.."
# A page to read runs its cells by itself; to edit, marimo would wait to be asked.
EDITING = {'"mode": "read"': '"mode": "edit"', '"auto_instantiate": false': '"auto_instantiate": true'}


@dataclass(frozen=True)
class Notebook:
    """A notebook as it is staged for one language."""

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


def find_notebooks(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9][0-9]_*.py"))


def in_language(source: str, language: str) -> str:
    """The notebook that speaks `language` whoever runs it: the line that asks for one becomes a constant.

    Raises CourseError when it has no such line.
    """
    source, count = LANGUAGE_LINE.subn(rf'\1"{language}"', source)
    if count != 1:
        raise CourseError(f"a notebook needs one line `LANGUAGE = …`, this one has {count}")
    return source


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


def export_notebooks(notebooks: list[Notebook], workers: Executor, work: Path, bar: Bar) -> tuple[list[str], Path]:
    """marimo's own export of each notebook, made by `workers` in `work`: the pages, and the folder of the first with
    all that it needs beside it."""
    # In a project that has kvtiers, as this one, marimo would pack it up for each page.
    (work / "pyproject.toml").touch()
    folders = [work / notebook.language / notebook.name for notebook in notebooks]
    exports = [workers.submit(_export, *export) for export in zip(notebooks, folders, strict=True)]
    try:
        for export in as_completed(exports):
            export.result()
            bar.advance()
            if export is not exports[0]:
                shutil.rmtree(folders[exports.index(export)])  # each brings all of marimo's frontend
    finally:
        _settle(exports)
    return [export.result() for export in exports], folders[0]


def _settle(exports: list[Future[str]]) -> None:
    """Nobody writes any more, whatever became of it: where they wrote will be removed."""
    for export in exports:
        if not export.cancel():
            export.exception()


def _export(notebook: Notebook, out: Path) -> str:
    source = out.with_suffix(".py")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(without_header(notebook.path.read_text(encoding="utf-8")), encoding="utf-8")
    export_with_marimo(source, out)
    return (out / "index.html").read_text(encoding="utf-8")


def export_with_marimo(source: Path, out: Path) -> None:
    """Run `marimo export html-wasm` for `source` into the folder `out`, in this process: it takes most of its time to
    start.

    Raises:
        CourseError: with what marimo said.
    """
    _pack_no_modules()
    (marimo,) = entry_points(group="console_scripts", name="marimo")
    command = ["export", "html-wasm", str(source), "--output", str(out), "--mode", "run", "--force"]
    said = io.StringIO()
    try:
        with contextlib.chdir(source.parent), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            marimo.load().main(command, standalone_mode=False)
    except (Exception, SystemExit) as error:
        raise CourseError(f"marimo could not export {source.name}: {error}\n{said.getvalue()[-2000:]}") from error


def _pack_no_modules() -> None:
    """Keep marimo from fetching ruff, whichever is the newest, to look for modules beside the notebook: there are none.

    Raises:
        CourseError: marimo looks in another way.
    """
    from marimo._export import local_modules  # noqa: PLC0415  only the processes that export have marimo

    look = "_ruff_import_graph"
    if not hasattr(local_modules, look):
        raise CourseError(f"marimo's export no longer has {look}: keep it from fetching ruff in its new way")
    setattr(local_modules, look, lambda *_: {})


def write_pages(notebooks: list[Notebook], exported: list[str], frontend: Frontend, runtime: str, out: Path) -> None:
    """Write `notebooks/LANG/NAME/{index,edit}.html` into `out`, from marimo's pages.

    `runtime` is the runtime's folder name in `out`.
    """
    for notebook, export in zip(notebooks, exported, strict=True):
        page = _replace_once(_relocate(export, runtime, frontend), LANGUAGE, f'<html lang="{notebook.language}">')
        folder = out / notebook.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(with_policy(page, NOTEBOOK), encoding="utf-8")
        # Whoever edits may ask for a package: look nowhere else than here.
        nowhere = f'data-pypi-index-url="{UP}/{runtime}/none/"'
        editor = _replace_once(page, "<marimo-wasm ", f"<marimo-wasm {nowhere} ")
        for reading, editing in EDITING.items():
            editor = _replace_once(editor, reading, editing)
        (folder / "edit.html").write_text(with_policy(editor, EDITOR), encoding="utf-8")


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
    look = "".join(f'<link rel="stylesheet" href="{UP}/static/{name}.css">' for name in ("view", "notebook"))
    page = _replace_once(page, "</head>", f"{look}</head>")
    return _replace_once(page, '<meta charset="utf-8" />', f'<meta charset="utf-8" />{early}')


def _replace_once(page: str, old: str, new: str) -> str:
    if page.count(old) != 1:
        raise CourseError(f"marimo's exported page has changed: {old} stands in it {page.count(old)} times, not once")
    return page.replace(old, new)
