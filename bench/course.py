"""How fast a lesson answers and is live, against marimo's own export of the same notebook: `make bench-course`.

Both are served from this machine and opened in the same Chromium, taking turns. `--line 20` sends them over a line of
so many Mbit/s with a delay of 40 ms; `--phone` opens them on a narrow page and a processor four times as slow.
"""

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

import serve
from build import SITE
from playwright.sync_api import BrowserContext, FrameLocator, Page, sync_playwright

from bench.stock_site import build_stock_site

LESSON, SECOND_LESSON = "02-kv-size", "03-load-or-recompute"
SAVED_SLIDER, LIVE_SLIDER = "#saved input[type=range]", "[role=slider]"
DELAY_S, PACKET = 0.04, 16384
PHONE_SLOWER = 4
WIDTHS = {False: 1280, True: 390}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
COURSE, STOCK = "this course", "marimo's export"
COLD, WARM = "cold", "warm"
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
    answer_s: float
    live_s: float
    sent_mb: float
    early_steps_s: list[float] = field(default_factory=list)
    steps_s: list[float] = field(default_factory=list)


@dataclass
class Line:
    """A line that all connections share: bytes leave it one after the other, and each answer is late."""

    mbit_per_s: float
    delay_s: float
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry(self, size: int) -> None:
        """Wait until so many bytes have left."""
        with self._lock:
            now = time.perf_counter()
            self._free_at = max(now, self._free_at) + size * 8 / (self.mbit_per_s * 1e6)
        time.sleep(self._free_at - now)


class CountingHandler(serve.Handler):
    """Adds up what goes over the wire; where there is a line, it goes over that."""

    sent_bytes = 0
    line: Line | None = None

    def send_head(self) -> IO[bytes] | None:  # type: ignore[override]
        if CountingHandler.line:
            time.sleep(CountingHandler.line.delay_s)
        return super().send_head()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        CountingHandler.sent_bytes += Path(source.name).stat().st_size
        while part := source.read(PACKET):
            if CountingHandler.line:
                CountingHandler.line.carry(len(part))
            outputfile.write(part)


def measure(context: BrowserContext, address: str, framed: bool, phone: bool, steps: int = STEPS) -> Load:
    """Open a lesson; time its first chart, the first slider step that is answered, when Python is there, and `steps`
    more on both sides of that."""
    page = context.pages[0]
    if phone:
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": PHONE_SLOWER})
    CountingHandler.sent_bytes = 0
    began = time.perf_counter()
    page.goto(f"{address}#notebook" if framed and phone else address, wait_until="commit")
    load = Load(0, 0, 0, 0)
    notebook: Page | FrameLocator = page
    if framed:
        page.locator("#saved svg[role=img]").first.wait_for()
        load.chart_s = time.perf_counter() - began
        page.locator("#saved:not([inert])").wait_for()
        _step(page, page, SAVED_SLIDER)
        load.answer_s = time.perf_counter() - began
        while len(load.early_steps_s) < steps and page.locator("[data-state=starting]").count():
            load.early_steps_s.append(_step(page, page, SAVED_SLIDER))
        page.locator('[data-state="live"]').wait_for(timeout=120_000)
        notebook = page.frame_locator("#live")
    notebook.locator("svg[role=img]").first.wait_for(timeout=120_000)
    load.chart_s = load.chart_s or time.perf_counter() - began
    _step(page, notebook, LIVE_SLIDER)
    load.live_s = time.perf_counter() - began
    load.answer_s = load.answer_s or load.live_s
    load.sent_mb = CountingHandler.sent_bytes / 1e6
    page.wait_for_load_state("networkidle")
    load.steps_s = [_step(page, notebook, LIVE_SLIDER) for _ in range(steps)]
    return load


def _step(page: Page, notebook: Page | FrameLocator, sliders: str) -> float:
    """Press an arrow key on the first slider until the chart says something else; returns the seconds it took."""
    slider = notebook.locator(sliders).first
    slider.focus()
    handle = slider.element_handle()
    frame = handle.owner_frame() or page.main_frame
    before = frame.evaluate(CHART)
    began = time.perf_counter()
    page.keyboard.press("ArrowRight")
    changed = f"before => ![undefined, before].includes(({CHART})() ?? undefined)"
    frame.wait_for_function(changed, arg=before, timeout=60_000, polling="raf")
    return time.perf_counter() - began


def run(rounds: int, chromium: str, phone: bool) -> str:
    """Both variants, taking turns; returns a Markdown table."""
    stock = SITE / ".cache" / "stock"
    build_stock_site(f"{LESSON.replace('-', '_')}.py", stock, SITE / ".cache")
    addresses = {COURSE: f"{_serve(SITE / 'dist')}/en/", STOCK: f"{_serve(stock)}/"}
    loads: dict[tuple[str, str], list[Load]] = defaultdict(list)
    with sync_playwright() as playwright:
        for name, address in list(addresses.items()) * rounds:
            framed = name == COURSE
            with tempfile.TemporaryDirectory() as profile:
                for state in (COLD, WARM):
                    context = playwright.chromium.launch_persistent_context(
                        profile,
                        executable_path=chromium,
                        args=ARGUMENTS,
                        viewport={"width": WIDTHS[phone], "height": 900},
                    )
                    loads[name, state].append(
                        measure(context, f"{address}{LESSON}/" if framed else address, framed, phone)
                    )
                    if framed and state == WARM:
                        loads[SECOND_LESSON, WARM].append(
                            measure(context, f"{address}{SECOND_LESSON}/", framed, phone, 0)
                        )
                    context.close()
    return _table(loads)


def _serve(folder: Path) -> str:
    server = serve.make_server(folder, 0, CountingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _table(loads: dict[tuple[str, str], list[Load]]) -> str:
    def row(label: str, unit: str, ours: float, stock: float) -> str:
        return f"| {label} | {ours:.2f} {unit} | {stock:.2f} {unit} | {ours / stock:.2f} |"

    def medians(state: str, value: str) -> list[float]:
        return [median(getattr(load, value) for load in loads[name, state]) for name in (COURSE, STOCK)]

    steps = [
        median(step_s for state in (COLD, WARM) for load in loads[name, state] for step_s in load.steps_s)
        for name in (COURSE, STOCK)
    ]
    rows = [f"| median | {COURSE} | {STOCK} | ratio |", "| --- | --- | --- | --- |"]
    for state in (COLD, WARM):
        rows.append(row(f"{state}: first chart", "s", *medians(state, "chart_s")))
        rows.append(row(f"{state}: first slider step answered", "s", *medians(state, "answer_s")))
        rows.append(row(f"{state}: live", "s", *medians(state, "live_s")))
    early_s = [step_s for state in (COLD, WARM) for load in loads[COURSE, state] for step_s in load.early_steps_s]
    if early_s:
        rows.append(f"| slider step before Python | {1000 * median(early_s):.0f} ms | | |")
    rows.append(row("slider step", "s", *steps))
    rows.append(row("cold: sent", "MB", *medians(COLD, "sent_mb")))
    rows.append(f"| second lesson: sent | {median(load.sent_mb for load in loads[SECOND_LESSON, WARM]):.2f} MB | | |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a lesson against marimo's own export of its notebook.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--line", type=float, metavar="MBIT", help="Mbit/s of the line, with a delay of 40 ms")
    parser.add_argument("--phone", action="store_true", help="a narrow page, a processor four times as slow")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on PATH: `make look-bench-course` says what brings it")
    CountingHandler.line = Line(options.line, DELAY_S) if options.line else None
    print(run(options.rounds, chromium, options.phone))


if __name__ == "__main__":
    main()
