"""Builds the course: `python site/build.py [--out site/dist]`.

Lessons and notebooks in, a folder of static files out. Needs the package registries; no browser, no GPU.
"""

import argparse
import errno
import hashlib
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from course.children import ChildError, children
from course.compress import Compressor
from course.downloads import load_downloads
from course.errors import CourseError, NoSpaceError
from course.fetch import fetch
from course.lessons.pages import LANGUAGES, Pages
from course.lessons.reading import load_reading, write_reading
from course.lessons.search import write_index, write_library
from course.notebooks.export import (
    Notebook,
    export_notebooks,
    find_notebooks,
    in_language,
    start_script,
    with_wheel,
    write_pages,
)
from course.notebooks.frontend import Frontend, build_frontend
from course.notebooks.runtime import build_runtime
from course.notebooks.saved import save_notebooks
from course.notebooks.share import write_pictures
from course.notices import write_notices
from course.steps import step
from course.workers import end_workers, marimo_workers
from rich.progress import Progress

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import read_result
from progress import bars, say

SITE = Path(__file__).resolve().parent
PROJECT = SITE.parent
RESULTS = PROJECT / "lab" / "results"
LANES = 4
"""Fetching, the runtime that waits for it, the saved states, the frontend; the pages have the main thread."""
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
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        sys.exit(f"build failed: {NoSpaceError(error.filename or options.cache)}")


def site_address(text: str) -> str:
    """`text` without a slash at its end. Raises CourseError unless it is an address that pages can be put below."""
    if not ADDRESS.fullmatch(text):
        raise CourseError(f"--address must look like https://host/path, got {text!r}")
    return text.rstrip("/")


def build(out: Path, cache: Path, address: str) -> None:
    """Write the site for `address`, and put it in the place of `out` once all of it is there."""
    fresh = cache / "site"
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(SITE / "static", fresh / "static")
    compressor = Compressor(cache / "compressed")
    started = time.monotonic()
    with bars() as shown, marimo_workers() as workers, ThreadPoolExecutor(LANES) as lanes:
        try:
            Build(fresh, cache, address, shown, workers, lanes, compressor).write()
            compressor.finish(shown)
        except BaseException:
            # What goes on elsewhere is of no use any more.
            children.stop()
            compressor.stop()
            end_workers()
            raise
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(fresh, out)
    say(f"built in {time.monotonic() - started:.0f} s")


@dataclass(frozen=True)
class Build:
    """One build: the runtime, the frontend and the saved states side by side, then the pages.

    Whatever is final goes to the ``compressor`` at once.
    """

    out: Path
    cache: Path
    address: str
    shown: Progress
    workers: Executor
    lanes: Executor
    compressor: Compressor

    def write(self) -> None:
        out, notebooks = self.out, stage(find_notebooks(PROJECT / "notebooks"), self.cache / "notebooks")
        runtime = _runtime_name()
        fetched = self.lanes.submit(self._fetch)
        runtime_built = self.lanes.submit(self._write_runtime, runtime, fetched)
        saving = self.lanes.submit(save_notebooks, notebooks, self.workers, self.cache / "states", self.shown)
        written = self.lanes.submit(self._write_notebooks, notebooks, runtime, fetched)
        _await(written, saving, beside=(fetched, runtime_built))
        frontend, saved = written.result(), saving.result()
        with step(self.shown, "write pages"):
            shutil.copytree(RESULTS / "reference", out / "results", ignore=shutil.ignore_patterns("*.log"))
            views = {notebook: each.view for notebook, each in saved.items()}
            pictures = write_pictures(views, PROJECT / "docs" / "lab.png", out / "share")
            reading = load_reading(PROJECT, SITE)
            start = start_script(frontend, runtime, "../../")
            write_reading(reading, saved, pictures, start, Pages(SITE, out, self.address))
            write_index(reading, SITE, out / "static" / "search.json")
            write_library(SITE, self.cache, out / "static" / "minisearch.js")
            write_notices(SITE, self.cache / "downloads", out / "third-party-notices.txt")
        runtime_built.result()
        self.compressor.add(out)

    def _fetch(self) -> None:
        downloads = load_downloads(SITE / "runtime" / "downloads.json")
        with step(self.shown, "fetch", len(downloads)) as bar:
            fetch(downloads, self.cache / "downloads", bar.advance)

    def _write_runtime(self, name: str, fetched: Future[None]) -> None:
        """The browser's Python, built anew unless nothing it is made of has changed."""
        fetched.result()
        built = self.cache / "runtime"
        stamp = built / "complete"
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != name:
            notebooks = self.cache / "notebooks" / "en"
            build_runtime(SITE, PROJECT / "kvtiers", notebooks, self.cache, built, progress=self.shown)
            stamp.write_text(name, encoding="utf-8")
        shutil.copytree(built, self.out / name, ignore=shutil.ignore_patterns("complete"))
        self.compressor.add(self.out / name)

    def _write_notebooks(self, notebooks: list[Notebook], runtime: str, fetched: Future[None]) -> Frontend:
        """The notebooks' pages, what they share, and the notebooks to download."""
        with tempfile.TemporaryDirectory(dir=self.cache) as work:
            with step(self.shown, "export notebooks", len(notebooks)) as bar:
                exported, export = export_notebooks(notebooks, self.workers, Path(work), bar)
            fetched.result()
            with step(self.shown, "merge frontend"):
                frontend = build_frontend(export, version("marimo"), SITE, self.cache, self.out)
        # A notebook in the browser takes the folder above its worker's assets/ for its own.
        shutil.copytree(notebooks[0].path.parent / "public", self.out / frontend.folder / "public")
        self.compressor.add(self.out / frontend.folder)
        write_pages(notebooks, exported, frontend, runtime, self.out)
        wheel = f"{self.address}/wheels/{build_wheel(self.out / 'wheels')}"
        for notebook in notebooks:
            source = with_wheel(notebook.path.read_text(encoding="utf-8"), wheel)
            (self.out / f"{notebook.folder}.py").write_text(source, encoding="utf-8")
        return frontend


def _await(*wanted: Future[Any], beside: tuple[Future[None], ...]) -> None:
    """Until all ``wanted`` is done; what fails meanwhile, of that or ``beside`` it, is raised at once."""
    going: set[Future[Any]] = {*wanted, *beside}
    while not all(each.done() for each in wanted):
        done, going = wait(going, return_when=FIRST_COMPLETED)
        for each in done:
            each.result()


def stage(notebooks: list[Path], folder: Path) -> list[Notebook]:
    """Write each notebook once a language into `folder`, with the lab result they show beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    result = lab_result(RESULTS)
    staged = []
    for language in LANGUAGES:
        public = folder / language / "public"
        public.mkdir(parents=True)
        shutil.copy(result, public / "lab-result.json")
        for notebook in notebooks:
            path = folder / language / notebook.name
            path.write_text(in_language(notebook.read_text(encoding="utf-8"), language), encoding="utf-8")
            staged.append(Notebook(path, language))
    return staged


def lab_result(results: Path) -> Path:
    """The last run on this machine; the committed one where there is none, or none that this version can read."""
    latest = results / "latest.json"
    if latest.is_file():
        try:
            read_result(latest.read_text(encoding="utf-8"))
        except (KvtiersError, UnicodeDecodeError) as error:
            print(f"{latest} can't be shown ({error}): lesson 6 shows the committed run. Run `make lab` again.")
        else:
            return latest
    return results / "reference" / "cpu-tiny.json"


def _runtime_name() -> str:
    """The runtime's folder: named by what it is made of, since browsers keep its files for good."""
    inputs = [
        *sorted((SITE / "runtime").iterdir()),
        SITE / "course" / "notebooks" / "runtime.py",
        *sorted(path for path in (PROJECT / "kvtiers").rglob("*") if "__pycache__" not in path.parts),
    ]
    inputs += find_notebooks(PROJECT / "notebooks")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs if path.is_file())).hexdigest()[:12]
    return f"python-{digest}"


def build_wheel(folder: Path) -> str:
    """Write the kvtiers wheel into `folder`; returns its name."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    try:
        children.run(command, folder=PROJECT)
    except ChildError as failure:
        raise CourseError(f"could not build the kvtiers wheel:\n{str(failure)[-2000:]}") from failure
    return next(folder.glob("kvtiers-*.whl")).name


if __name__ == "__main__":
    main()
