"""How fast a lesson is live, against marimo's own export of the same notebook: `python site/measure.py`.

Both are served from this machine and opened in the same Chromium, taking turns. The stock site has the layout that
`marimo export html-wasm --offline` writes: the export, a full Pyodide folder beside it, marimo's own data-* attributes.
It is made from the same packages, unchanged; the command itself needs marimo's hosted lock file.
"""

import argparse
import email
import hashlib
import json
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import serve
from course.downloads import load_downloads, unpack_tar
from course.fetch import fetch
from course.notebooks.export import export_with_marimo, without_header
from course.workers import marimo_workers
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from playwright.sync_api import BrowserContext, FrameLocator, Page, sync_playwright

SITE = Path(__file__).resolve().parent
PROJECT = SITE.parent
LESSON, SECOND_LESSON = "02-kv-size", "03-load-or-recompute"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
BROWSER = {"sys_platform": "emscripten", "python_version": "3.14", "python_full_version": "3.14.2", "extra": ""}
STEPS = 5
CHART = """() => {
  const find = root => root.querySelector("svg[role=img]")
    ?? [...root.querySelectorAll("*")].map(e => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  return find(document)?.outerHTML;
}"""


@dataclass
class Load:
    """One opening of a lesson."""

    chart_s: float
    live_s: float
    sent_bytes: int
    steps_s: list[float] = field(default_factory=list)


class CountingHandler(serve.Handler):
    """Adds up what goes over the wire."""

    sent_bytes = 0

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file, and count it."""
        CountingHandler.sent_bytes += Path(source.name).stat().st_size
        super().copyfile(source, outputfile)


def build_stock(folder: Path, cache: Path) -> None:
    """marimo's own export of the notebook, with a plain Pyodide folder beside it."""
    shutil.rmtree(folder, ignore_errors=True)
    pyodide = folder / "pyodide"
    files = fetch(load_downloads(SITE / "runtime" / "downloads.json"), cache / "downloads")
    with tempfile.TemporaryDirectory() as work:
        notebook = PROJECT / "notebooks" / f"{LESSON.replace('-', '_')}.py"
        source = Path(work) / notebook.name
        source.write_text(without_header(notebook.read_text(encoding="utf-8")))
        with marimo_workers() as workers:
            workers.submit(export_with_marimo, source, folder).result()
        for name, path in files.items():
            if name.startswith("pyodide-"):
                unpack_tar(path, pyodide, "package/")
            elif name.startswith("pyyaml"):
                with zipfile.ZipFile(path) as bundle:
                    bundle.extractall(work, [file for file in bundle.namelist() if re.fullmatch(r"yaml/\w+\.py", file)])
            elif name.endswith(".whl"):
                shutil.copy(path, pyodide / name)
        _pack(pyodide, Path(work) / "yaml", "pyyaml", "6.0.4")
        _pack(pyodide, PROJECT / "kvtiers", "kvtiers", "0.1.0")
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = {str(canonicalize_name(entry["name"])): entry for entry in map(_entry, sorted(pyodide.glob("*.whl")))}
    packages["kvtiers"]["depends"] = ["matplotlib"]
    for entry in packages.values():
        entry["depends"] = [name for name in entry["depends"] if name in packages]
    (pyodide / "pyodide-lock.json").write_text(
        json.dumps({"info": lock["info"], "packages": packages}), encoding="utf-8"
    )
    page = (folder / "index.html").read_text(encoding="utf-8")
    urls = 'data-pyodide-index-url="./pyodide/" data-pyodide-lockfile-url="./pyodide/pyodide-lock.json"'
    (folder / "index.html").write_text(
        page.replace('<marimo-wasm hidden="">', f'<marimo-wasm hidden="" {urls}>'), encoding="utf-8"
    )


def _pack(into: Path, package: Path, name: str, version: str) -> None:
    with zipfile.ZipFile(into / f"{name}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as bundle:
        for file in sorted(package.rglob("*.*")):
            if file.is_file() and "__pycache__" not in file.parts:
                bundle.write(file, f"{package.name}/{file.relative_to(package).as_posix()}")
        info = f"{name}-{version}.dist-info"
        bundle.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        bundle.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        bundle.writestr(f"{info}/RECORD", "")


def _entry(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as bundle:
        names = bundle.namelist()
        metadata = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        read = email.message_from_bytes(bundle.read(metadata))
    tops = {name.split("/")[0].removesuffix(".py") for name in names if name.endswith(".py")}
    needed = [Requirement(line) for line in read.get_all("Requires-Dist") or []]
    return {
        "name": read["Name"],
        "version": read["Version"],
        "file_name": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "imports": sorted(tops),
        "depends": sorted({canonicalize_name(r.name) for r in needed if not r.marker or r.marker.evaluate(BROWSER)}),
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }


def measure(context: BrowserContext, address: str, framed: bool, steps: int = STEPS) -> Load:
    """Open a lesson; time its first chart, the first slider step that is answered, and `steps` more."""
    page = context.pages[0]
    CountingHandler.sent_bytes = 0
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    notebook: Page | FrameLocator = page
    chart_s = 0.0
    if framed:
        page.locator("#saved svg[role=img]").first.wait_for()
        chart_s = time.perf_counter() - began
        page.locator('[data-state="live"]').wait_for(timeout=120_000)
        notebook = page.frame_locator("#live")
    notebook.locator("svg[role=img]").first.wait_for(timeout=120_000)
    chart_s = chart_s or time.perf_counter() - began
    _step(page, notebook)
    load = Load(chart_s, time.perf_counter() - began, CountingHandler.sent_bytes)
    page.wait_for_load_state("networkidle")
    load.steps_s = [_step(page, notebook) for _ in range(steps)]
    return load


def _step(page: Page, notebook: Page | FrameLocator) -> float:
    """Press an arrow key on the first slider until the chart says something else; returns the seconds it took."""
    slider = notebook.locator("[role=slider]").first
    slider.focus()
    handle = slider.element_handle()
    frame = handle.owner_frame() or page.main_frame
    before = frame.evaluate(CHART)
    began = time.perf_counter()
    page.keyboard.press("ArrowRight")
    changed = f"before => ![undefined, before].includes(({CHART})() ?? undefined)"
    frame.wait_for_function(changed, arg=before, timeout=60_000, polling="raf")
    return time.perf_counter() - began


def run(rounds: int, chromium: str) -> str:
    """Both variants, taking turns; returns a Markdown table."""
    cache = SITE / ".cache"
    build_stock(cache / "stock", cache)
    loads: dict[tuple[str, str], list[Load]] = {}
    second: list[int] = []
    servers = {name: _serve(folder) for name, folder in (("course", SITE / "dist"), ("stock", cache / "stock"))}
    with sync_playwright() as playwright:
        for _ in range(rounds):
            for name, address in servers.items():
                framed = name == "course"
                target = f"{address}/en/{LESSON}/" if framed else f"{address}/"
                with tempfile.TemporaryDirectory() as profile:
                    for state in ("cold", "warm"):
                        context = playwright.chromium.launch_persistent_context(
                            profile, executable_path=chromium, args=ARGUMENTS, viewport={"width": 1280, "height": 900}
                        )
                        loads.setdefault((name, state), []).append(measure(context, target, framed))
                        if framed and state == "warm":
                            second.append(measure(context, f"{address}/en/{SECOND_LESSON}/", framed, 0).sent_bytes)
                        context.close()
    return _table(loads, second)


def _serve(folder: Path) -> str:
    server = serve.make_server(folder, 0, CountingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _table(loads: dict[tuple[str, str], list[Load]], second: list[int]) -> str:
    def row(label: str, unit: str, digits: int, ours: float, stock: float) -> str:
        return f"| {label} | {ours:.{digits}f} {unit} | {stock:.{digits}f} {unit} | {ours / stock:.2f} |"

    def medians(state: str, value: str) -> tuple[float, float]:
        ours, stock = ([getattr(load, value) for load in loads[name, state]] for name in ("course", "stock"))
        return statistics.median(ours), statistics.median(stock)

    steps = {
        name: statistics.median(s for state in ("cold", "warm") for load in loads[name, state] for s in load.steps_s)
        for name in ("course", "stock")
    }
    sent = medians("cold", "sent_bytes")
    rows = ["| median | this course | marimo's export | ratio |", "| --- | --- | --- | --- |"]
    for state in ("cold", "warm"):
        rows.append(row(f"{state}: first chart", "s", 2, *medians(state, "chart_s")))
        rows.append(row(f"{state}: first slider step answered", "s", 2, *medians(state, "live_s")))
    rows.append(row("slider step", "s", 2, steps["course"], steps["stock"]))
    rows.append(row("cold: sent", "MB", 1, sent[0] / 1e6, sent[1] / 1e6))
    rows.append(f"| second lesson: sent | {statistics.median(second) / 1e6:.2f} MB | | |")
    return "\n".join(rows)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Time a lesson against marimo's own export of its notebook.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on PATH: `make browser` installs it where it can")
    print(run(rounds, chromium))


if __name__ == "__main__":
    main()
