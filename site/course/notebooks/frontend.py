"""marimo's frontend, once for all notebooks, with the files that each page needs at once merged into one."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from course.downloads import Download, find_download, unpack_tar
from course.errors import CourseError
from course.fetch import fetch
from course.node import run_node

MERGED = "start.js"
ROLLUP = "@rollup/wasm-node"


@dataclass(frozen=True)
class Frontend:
    """Where the frontend's parts are, relative to the site's root."""

    folder: str
    worker: str
    version: str

    @property
    def merged(self) -> str:
        """The file that holds most of it."""
        return f"{self.folder}/assets/{MERGED}"


def build_frontend(export: Path, version: str, site: Path, cache: Path, out: Path) -> Frontend:
    """Copy the frontend of marimo's `export` of a notebook into `out` and merge what every page needs.

    Its folder is named by its content: browsers keep its files for good.

    Raises:
        CourseError: the export is not laid out as expected, or the list of downloads has no rollup to merge with.
    """
    assets = export / "assets"
    if not assets.is_dir():
        raise CourseError(f"marimo's export has no folder {assets.name}: its frontend has changed")
    script = site / "runtime" / "bundle.mjs"
    rollup = find_download(site / "runtime" / "downloads.json", ROLLUP)
    names = sorted(path.name for path in assets.iterdir())  # marimo names them by content
    digest = hashlib.sha256(
        "\n".join([*names, rollup.sha256, script.read_text(encoding="utf-8")]).encode()
    ).hexdigest()[:12]
    built = cache / "frontend" / digest
    if not built.is_dir():
        shutil.rmtree(built.parent, ignore_errors=True)
        _build(export, rollup, cache / "downloads", script, built)
    folder = f"marimo-{digest}"
    shutil.copytree(built, out / folder)
    workers = [path.name for path in (built / "assets").glob("worker-*.js")]
    if len(workers) != 1:
        raise CourseError(f"marimo's export has {len(workers)} files worker-*.js, not one: its frontend has changed")
    return Frontend(folder, f"{folder}/assets/{workers[0]}", version)


def _build(export: Path, rollup: Download, downloads: Path, script: Path, built: Path) -> None:
    work = built.with_suffix(".work")
    unpack_tar(fetch([rollup], downloads)[rollup.file], work / "rollup", "package/")
    shutil.copytree(export, work / "site", ignore=shutil.ignore_patterns("index.html", "*.md"))
    merged = run_node(script, work / "rollup", work / "site" / "assets", work / "bundled", MERGED)
    for name in merged.split():
        (work / "site" / "assets" / name).unlink()
    shutil.copytree(work / "bundled", work / "site" / "assets", dirs_exist_ok=True)
    (work / "site").rename(built)
    shutil.rmtree(work)
