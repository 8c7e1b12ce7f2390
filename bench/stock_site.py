"""marimo's own export of a notebook, in the layout that `marimo export html-wasm --offline` writes.

The export, a full Pyodide folder beside it, marimo's own data-* attributes; from the same packages, unchanged. The
command itself needs marimo's hosted lock file.
"""

import hashlib
import json
import shutil
import tempfile
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

from build import PROJECT, SITE, build_wheel
from course.downloads import load_downloads, unpack_tar
from course.fetch import fetch
from course.notebooks.export import export_with_marimo, without_header
from course.workers import marimo_workers
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRA = "charts"
"""The extra of kvtiers that the notebooks need."""


def build_stock_site(notebook: str, folder: Path, cache: Path) -> None:
    """Write the site of one notebook, by its file name, into ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    pyodide = folder / "pyodide"
    files = fetch(load_downloads(SITE / "runtime" / "downloads.json"), cache / "downloads")
    with tempfile.TemporaryDirectory() as work, marimo_workers() as workers:
        source = Path(work) / notebook
        source.write_text(without_header((PROJECT / "notebooks" / notebook).read_text(encoding="utf-8")))
        workers.submit(export_with_marimo, source, folder).result()
    unpack_tar(next(path for name, path in files.items() if name.startswith("pyodide-")), pyodide, "package/")
    for name, path in files.items():
        if name.startswith("pyyaml-"):
            _copy_pure(path, pyodide)
        elif name.endswith(".whl"):
            shutil.copy(path, pyodide / name)
    build_wheel(pyodide)
    _write_lock(pyodide)
    page = (folder / "index.html").read_text(encoding="utf-8")
    urls = 'data-pyodide-index-url="./pyodide/" data-pyodide-lockfile-url="./pyodide/pyodide-lock.json"'
    page = page.replace('<marimo-wasm hidden="">', f'<marimo-wasm hidden="" {urls}>')
    (folder / "index.html").write_text(page, encoding="utf-8")


def _copy_pure(wheel: Path, folder: Path) -> None:
    """Without what is compiled, for another machine."""
    copy = folder / f"{'-'.join(wheel.name.split('-')[:2])}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as bundle, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as pure:
        for name in bundle.namelist():
            if not name.endswith(".so"):
                pure.writestr(name, bundle.read(name))


def _write_lock(pyodide: Path) -> None:
    lock = pyodide / "pyodide-lock.json"
    info = json.loads(lock.read_text(encoding="utf-8"))["info"]
    browser = {
        "sys_platform": "emscripten",
        "python_version": info["python"].rpartition(".")[0],
        "python_full_version": info["python"],
        "extra": EXTRA,
    }
    entries = [_entry(path, browser) for path in sorted(pyodide.glob("*.whl"))]
    packages = {str(canonicalize_name(entry["name"])): entry for entry in entries}
    for entry in entries:
        entry["depends"] = [name for name in entry["depends"] if name in packages]
    lock.write_text(json.dumps({"info": info, "packages": packages}), encoding="utf-8")


def _entry(wheel: Path, browser: dict[str, str]) -> dict[str, Any]:
    name, version, *_ = wheel.name.split("-")
    with zipfile.ZipFile(wheel) as bundle:
        read = PathDistribution(zipfile.Path(bundle, f"{name}-{version}.dist-info/"))
        needed = map(Requirement, read.requires or ())
        modules = {file.split("/")[0].removesuffix(".py") for file in bundle.namelist() if file.endswith(".py")}
        return {
            "name": read.metadata["Name"],
            "version": read.version,
            "file_name": wheel.name,
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "imports": sorted(modules),
            "depends": sorted(
                {canonicalize_name(one.name) for one in needed if not one.marker or one.marker.evaluate(browser)}
            ),
            "install_dir": "site",
            "package_type": "package",
            "unvendored_tests": False,
        }
