"""Builds the course: `python site/build.py [--out site/dist]`.

Lessons and notebooks in, a folder of static files out. Needs node and npm (for the browser's Python) and the package
registries; no browser, no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from course.compress import compress_site
from course.errors import CourseError
from course.notebooks import Notebook, export_notebooks, find_notebooks, start_script, with_wheel
from course.notices import write_notices
from course.pages import Pages
from course.poster import save_view
from course.reading import load_reading, write_reading
from course.runtime import build_runtime
from course.search import write_index, write_library
from course.share import write_pictures

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import read_result

SITE = Path(__file__).resolve().parent
PROJECT = SITE.parent
RESULTS = PROJECT / "lab" / "results"
ADDRESS = re.compile(r"https?://[^\s/?#]+(/[^\s?#]*)?")


def main() -> None:
    """Build the whole site; a failure ends with one message."""
    parser = argparse.ArgumentParser(description="Build the course into a folder of static files.")
    parser.add_argument("--out", type=Path, default=SITE / "dist")
    parser.add_argument("--cache", type=Path, default=SITE / ".cache")
    parser.add_argument(
        "--address",
        default="http://127.0.0.1:8000",
        help="where the site will be served: search engines, previews and downloaded notebooks are told",
    )
    options = parser.parse_args()
    try:
        build(options.out.resolve(), options.cache.resolve(), site_address(options.address))
    except CourseError as error:
        sys.exit(f"build failed: {error}")


def site_address(text: str) -> str:
    """`text` without a slash at its end. Raises CourseError unless it is an address that pages can be put below."""
    if not ADDRESS.fullmatch(text):
        raise CourseError(f"--address must look like https://host/path, got {text!r}")
    return text.rstrip("/")


def build(out: Path, cache: Path, address: str) -> None:
    """Write the site for `address` into `out`, replacing what is there."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    shutil.copytree(SITE / "static", out / "static")

    notebooks = _stage(find_notebooks(PROJECT / "notebooks"), cache / "notebooks")
    runtime = _runtime(cache, out)
    frontend = export_notebooks(notebooks, runtime, SITE, cache, out)
    # A notebook in the browser takes the folder above its worker's assets/ for its own.
    shutil.copytree(notebooks[0].path.parent / "public", out / frontend.folder / "public")
    wheel = _wheel(out / "wheels")
    for notebook in notebooks:
        download = out / f"{notebook.folder}.py"
        download.write_text(with_wheel(notebook.path.read_text(), f"{address}/wheels/{wheel}"))

    with ThreadPoolExecutor(2) as pool:
        views = list(pool.map(lambda notebook: save_view(notebook.path, PROJECT), notebooks))
    saved = {(notebook.language, notebook.name): view for notebook, view in zip(notebooks, views, strict=True)}
    pictures = write_pictures(saved, PROJECT / "docs" / "lab.png", out / "share")
    reading = load_reading(PROJECT, SITE)
    start = start_script(frontend, runtime, "../../")
    write_reading(reading, saved, pictures, start, Pages(SITE, out, address))
    write_index(reading, SITE, out / "static" / "search.json")
    write_library(SITE, cache, out / "static" / "minisearch.js")
    write_notices(SITE, cache / "downloads", out / "third-party-notices.txt")
    compress_site(out, cache / "compressed")


def _stage(notebooks: list[Notebook], folder: Path) -> list[Notebook]:
    """Copy the notebooks, with the lab result they show beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    result = lab_result(RESULTS)
    staged = []
    for notebook in notebooks:
        path = folder / notebook.language / notebook.path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notebook.path, path)
        (path.parent / "public").mkdir(exist_ok=True)
        shutil.copy(result, path.parent / "public" / "lab-result.json")
        staged.append(Notebook(path, notebook.language))
    return staged


def lab_result(results: Path) -> Path:
    """The last run on this machine; the committed one where there is none, or none that this version can read."""
    latest = results / "latest.json"
    if latest.is_file():
        try:
            read_result(latest.read_text())
        except (KvtiersError, UnicodeDecodeError) as error:
            print(f"{latest} can't be shown ({error}): lesson 6 shows the committed run. Run `make lab` again.")
        else:
            return latest
    return results / "reference" / "cpu-tiny.json"


def _runtime(cache: Path, out: Path) -> str:
    """Build the browser's Python unless nothing it is made of has changed. Returns its folder's name."""
    inputs = [
        *sorted((SITE / "runtime").iterdir()),
        SITE / "course" / "runtime.py",
        *sorted(path for path in (PROJECT / "kvtiers").rglob("*") if "__pycache__" not in path.parts),
    ]
    inputs += sorted((PROJECT / "notebooks" / "en").glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs if path.is_file())).hexdigest()[:12]
    name, built = f"python-{digest}", cache / "runtime"
    stamp = built / "complete"
    if not stamp.is_file() or stamp.read_text() != digest:
        build_runtime(SITE, PROJECT / "kvtiers", cache / "notebooks" / "en", cache, built)
        stamp.write_text(digest)
    shutil.copytree(built, out / name, ignore=shutil.ignore_patterns("complete"))
    return name


def _wheel(folder: Path) -> str:
    command = [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = [path.name for path in folder.glob("*.whl")]
    if done.returncode or len(wheels) != 1:
        raise CourseError(f"could not build the kvtiers wheel:\n{done.stderr[-2000:]}")
    (folder / ".gitignore").unlink(missing_ok=True)
    return wheels[0]


if __name__ == "__main__":
    main()
