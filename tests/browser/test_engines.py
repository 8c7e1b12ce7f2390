"""The course in each browser engine: live lessons, a slider moved before Python is there and after, a dropped file, a
pasted log.

In Chromium, which the other files have, only what they do not test.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import pytest
import serve
from playwright.sync_api import Browser

from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_text
from tests.browser.conftest import LANGUAGES, LESSONS, LIVE_MS, PROJECT, serving
from tests.browser.engines import ChromiumWindow, FirefoxWindow, Window, firefox, webkit
from tests.browser.looks import DEEP_TEXT, SAVED_TEXTS, squeeze

ENGINES = ("chromium", "firefox", "webkit")
NOT_CHROMIUM = pytest.mark.parametrize("window", ENGINES[1:], indirect=True, scope="module")
ANSWER_S = 30.0
LIMIT_0_LOG = (PROJECT / "tests" / "core" / "data" / "logs" / "limit0.log").read_text(encoding="utf-8")
# `all(selector)` looks through the notebook's shadow trees too; `text()` is all that it shows.
LOOK = f"""
const page = document.getElementById("live").contentDocument;
const all = (selector, tree = page) => [...tree.querySelectorAll("*")].flatMap((element) => [
  ...(element.matches(selector) ? [element] : []),
  ...(element.shadowRoot ? all(selector, element.shadowRoot) : []),
]);
const text = () => ({DEEP_TEXT})(page.body);
"""
FIRST_SLIDER = 'all("[role=slider]")[0]'
CHART = 'all("svg text").map((label) => label.textContent).join()'


@pytest.fixture(scope="module", params=ENGINES)
def window(request: pytest.FixtureRequest) -> Iterator[Window]:
    """One page an engine for all tests of this file."""
    match request.param:
        case "firefox":
            with firefox() as window:
                yield window
        case "webkit":
            with webkit() as window:
                yield window
        case _:
            browser: Browser = request.getfixturevalue("browser")
            page = ChromiumWindow(browser)
            yield page
            page.close()


def look(window: Window, expression: str) -> Any:
    return window.evaluate(f"{LOOK} return {expression};")


def until(window: Window, expression: str, wait_s: float = ANSWER_S) -> Any:
    """The first value of the expression that is not false."""
    deadline = time.monotonic() + wait_s
    while not (value := window.evaluate(f"{LOOK} return {expression};")):
        assert time.monotonic() < deadline, f"never true: {expression}; console: {window.problems()}"
        time.sleep(0.1)
    return value


def open_live(window: Window, address: str) -> None:
    window.open(address)
    until_live(window)


def until_live(window: Window) -> None:
    state = 'document.getElementById("notebook").dataset.state'
    assert until(window, f'["live", "failed"].includes({state}) && {state}', LIVE_MS / 1000) == "live", (
        window.problems()
    )


def be_at(window: Window, address: str) -> None:
    """Have that lesson live, as it was left where it is: each test looks at a part of its own."""
    where = "location.origin + location.pathname"
    here = window.evaluate(f"return [{where}, document.getElementById('notebook')?.dataset.state];")
    if here != [address, "live"]:
        open_live(window, address)


def press_right(window: Window, page: str, slider: str) -> None:
    """One step of a slider by keyboard. A key that never reached the page is pressed again: drivers lose one now and
    then on a busy machine. One that did reach it has to work."""
    window.evaluate(f'{LOOK} self.heard = 0; {page}.addEventListener("keydown", () => (self.heard += 1), true);')
    deadline = time.monotonic() + ANSWER_S
    while not window.evaluate("return self.heard;"):
        assert time.monotonic() < deadline, "no key press reached the page"
        look(window, f"{slider}.focus()")
        window.press_right()


def step_first_slider(window: Window) -> None:
    """One step by keyboard, until the chart has changed."""
    before = look(window, CHART)
    press_right(window, "page", FIRST_SLIDER)
    until(window, f"{CHART} !== {json.dumps(before)}")


@NOT_CHROMIUM
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_goes_live_with_the_figures_of_the_saved_view(window: Window, address: str, lesson: str) -> None:
    """In one of the two engines in English, in the other in Chinese."""
    language = LANGUAGES[(LESSONS.index(lesson) + isinstance(window, FirefoxWindow)) % 2]
    open_live(window, f"{address}/{language}/{lesson}/")
    saved = window.evaluate(f"return ({SAVED_TEXTS})();")
    live = squeeze(look(window, "text()"))
    assert any(re.search(r"\d", text) for text in saved)
    assert [text for text in map(squeeze, saved) if text not in live] == []
    assert window.problems() == []


@pytest.fixture(scope="module")
def misfit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site with a memory image whose mark no browser has."""
    dist, folder = PROJECT / "site" / "dist", tmp_path_factory.mktemp("misfit")
    (runtime,) = dist.glob("python-*")
    (folder / runtime.name).mkdir()
    kept = [path for path in dist.iterdir() if path != runtime]
    boot = runtime / "pyodide.asm.mjs"
    kept += [path for path in runtime.iterdir() if not path.name.startswith(boot.name)]
    for path in kept:
        (folder / path.relative_to(dist)).symlink_to(path)
    script, count = re.subn(r'"mark": "[^"]+"', '"mark": "of another browser"', boot.read_text(encoding="utf-8"))
    assert count == 1
    (folder / runtime.name / boot.name).write_text(script, encoding="utf-8")
    with serving(folder) as address:
        yield address


def test_a_browser_that_the_image_does_not_fit_starts_python_without_it(window: Window, misfit: str) -> None:
    open_live(window, f"{misfit}/en/02-kv-size/")
    step_first_slider(window)
    assert "Warning" not in look(window, "text()")
    assert window.problems() == []


@dataclass
class SlowSite:
    """The site from a server that can keep Python's core back."""

    address: str = ""
    may_send: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def without_core(self) -> Iterator[None]:
        self.may_send.clear()
        try:
            yield
        finally:
            self.may_send.set()


@pytest.fixture(scope="module")
def slow() -> Iterator[SlowSite]:
    site = SlowSite()
    site.may_send.set()

    class Handler(serve.Handler):
        def send_head(self) -> IO[bytes] | None:  # type: ignore[override]
            if self.path.endswith("/core.bin"):
                site.may_send.wait(LIVE_MS / 1000)
            return super().send_head()

    with serving(PROJECT / "site" / "dist", Handler) as site.address:
        yield site


@NOT_CHROMIUM
def test_a_slider_moved_before_python_is_there_is_answered_and_taken_over(window: Window, slow: SlowSite) -> None:
    saved = 'document.getElementById("saved")'
    chart = "svg[role=img]"
    drawn = f"{saved}.querySelector('{chart}').ariaLabel"
    with slow.without_core():
        window.open(f"{slow.address}/en/02-kv-size/")
        until(window, f"!{saved}.inert")
        before = look(window, drawn)
        press_right(window, "document", f"{saved}.querySelector('[data-control=layers] input')")
        until(window, f"{drawn} !== {json.dumps(before)}")
        layers = look(window, f"{saved}.querySelector('[data-control=layers] input').value")
        assert look(window, f"{saved}.querySelectorAll('.beyond').length") == 0
        assert look(window, 'document.getElementById("notebook").dataset.state') != "live"
        after = look(window, drawn)
    until_live(window)
    until(window, f"all('{chart}')[0]?.ariaLabel === {json.dumps(after)}")
    assert look(window, f"{FIRST_SLIDER}.ariaValueNow") == layers
    until(window, f"location.search === '?layers={layers}'")
    assert window.problems() == []


@NOT_CHROMIUM
def test_the_notebook_takes_the_colours_of_the_page(window: Window, slow: SlowSite) -> None:
    be_at(window, f"{slow.address}/en/02-kv-size/")
    is_dark = 'page.querySelector(".dark") !== null'
    before = look(window, is_dark)
    for expected in (not before, before):
        window.evaluate('document.getElementById("theme").click();')
        until(window, f"({is_dark}) === {json.dumps(expected)}")


@NOT_CHROMIUM
def test_a_slider_step_changes_the_chart(window: Window, slow: SlowSite) -> None:
    be_at(window, f"{slow.address}/en/02-kv-size/")
    step_first_slider(window)
    assert window.problems() == []


@NOT_CHROMIUM
def test_a_dropped_result_is_shown(window: Window, address: str) -> None:
    result = json.loads((PROJECT / "lab" / "results" / "reference" / "cpu-tiny-long.json").read_text())
    result["model"]["name"] = "my-own-model"
    be_at(window, f"{address}/en/06-prove-it/")
    assert not look(window, 'text().includes("my-own-model")')
    window.evaluate(
        f"""{LOOK}
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([{json.dumps(json.dumps(result))}], "result.json", {{ type: "text/plain" }}));
        const drop = new DragEvent("drop", {{ bubbles: true, composed: true, cancelable: true, dataTransfer }});
        all("input[type=file]")[0].parentElement.dispatchEvent(drop);"""
    )
    until(window, 'text().includes("my-own-model")')
    assert window.problems() == []


@NOT_CHROMIUM
def test_a_pasted_log_gets_its_verdict(window: Window, address: str) -> None:
    conclusion = conclude(read_log_text(LIMIT_0_LOG)).conclusion
    be_at(window, f"{address}/en/06-prove-it/")
    window.evaluate(
        f"""{LOOK}
        const [box] = all("textarea");
        box.focus();
        const {{ set }} = Object.getOwnPropertyDescriptor(page.defaultView.HTMLTextAreaElement.prototype, "value");
        set.call(box, {json.dumps(LIMIT_0_LOG)}); // past React's own setter, as a paste does
        box.dispatchEvent(new InputEvent("input", {{ bubbles: true, composed: true, inputType: "insertFromPaste" }}));
        box.blur();"""
    )
    until(window, f"text().includes({json.dumps(conclusion.what('en'))})")
    assert window.problems() == []
