"""Every lesson's notebook as it is once it is live, looked at and not touched: one start of Python a lesson.

Chinese is the harder language for widths and words; the widest evidence is lesson 6's, in English. English lessons are
live in the other engines (`test_engines.py`), in each of them every second one.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.browser.conftest import DESKTOP, LESSONS, LIVE_MS, PHONE, Visit, visiting
from tests.browser.looks import (
    COLOURS,
    COLOURS_STAND,
    DEEP_TEXT,
    IDLE,
    LINKS,
    PLACES,
    RECORD,
    SAID,
    SAVED_TEXTS,
    SCHEMES,
    STILL,
    SWITCHES,
    TOO_NARROW,
    TOO_WIDE,
    english,
    issues,
    refused,
    squeeze,
)
from tests.browser.moves.states import assert_live_shows, saved_states
from tests.browser.test_print import assert_prints

STILL_PX = 2
SLOW = 6  # times slower than here: a notebook then takes longer to draw than a browser waits for it
# Goes into a page before anything else: no way to ask whether the browser is idle, which Safari has none of, and what
# stands in the live notebook, and what stood in the saved view, at the moment when the one takes the other's place.
CHANGE = f"""
  window.requestIdleCallback = undefined;
  addEventListener("DOMContentLoaded", () => {{
    const panel = document.getElementById("notebook");
    if (panel) new MutationObserver(() => {{
      if (panel.dataset.state !== "live") return;
      const live = ({DEEP_TEXT})(document.getElementById("live").contentDocument.body);
      window.atTheChange = [({SAVED_TEXTS})(), live];
    }}).observe(panel, {{ attributeFilter: ["data-state"] }});
  }});
"""
LOOKED_AT = [*(f"zh-TW/{lesson}/" for lesson in LESSONS), "en/06-prove-it/"]


@pytest.fixture(scope="module", params=LOOKED_AT)
def opened(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as visit:
        visit.page.add_init_script(RECORD)
        visit.open_live(request.param)
        visit.page.evaluate(IDLE)
        visit.page.evaluate("() => { window.first = window.shift }")
        yield visit


@pytest.fixture
def lesson(opened: Visit) -> Visit:
    """A live lesson on a wide screen in the light, whatever the test before did."""
    opened.page.set_viewport_size(DESKTOP)
    opened.page.emulate_media(media="screen", color_scheme="light")
    return opened


def test_it_says_in_the_browser_what_it_says_natively(lesson: Visit) -> None:
    native = [squeeze(text) for text in lesson.page.evaluate(SAVED_TEXTS)]
    live = squeeze(lesson.notebook.locator("body").evaluate(DEEP_TEXT))
    assert any(re.search(r"\d", text) for text in native)
    assert [text for text in native if text not in live] == []


def test_on_a_slow_machine_it_is_drawn_before_it_takes_the_saved_views_place(visit: Visit) -> None:
    visit.page.add_init_script(CHANGE)
    visit.open("en/03-load-or-recompute/")
    visit.page.context.new_cdp_session(visit.page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW})
    visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    saved, live = visit.page.evaluate("window.atTheChange")
    assert len(saved) > 1
    assert [text for text in map(squeeze, saved) if text not in squeeze(live)] == []


def test_all_it_takes_is_in_the_memory_image_and_allowed_by_the_policy(lesson: Visit) -> None:
    """What comes late costs the reader megabytes, and half a second."""
    assert any("/memory-1.bin" in url for url in lesson.requested)
    assert not any("/rest.bin" in url for url in lesson.requested)
    assert refused(lesson.page) == []
    assert lesson.problems == []


def test_nothing_moves_when_it_goes_live(lesson: Visit) -> None:
    assert lesson.page.evaluate("window.first") < STILL


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_what_the_saved_view_shows_stays_in_its_place(lesson: Visit, size: ViewportSize) -> None:
    lesson.page.set_viewport_size(size)
    lesson.page.locator("#tab-notebook").dispatch_event("click")
    panel = lesson.page.locator("#notebook")
    panel.evaluate("panel => { panel.dataset.state = 'starting' }")
    saved = lesson.page.locator("#saved").evaluate(PLACES)
    panel.evaluate("panel => { panel.dataset.state = 'live' }")
    lesson.frame.wait_for_function(f"count => ({PLACES})(document.body).length === count", arg=len(saved))
    live = lesson.frame.locator("body").evaluate(PLACES)
    assert [pair for pair in zip(saved, live, strict=True) if abs(pair[0] - pair[1]) > STILL_PX] == []


def test_it_fits_a_phone(lesson: Visit) -> None:
    lesson.page.set_viewport_size(PHONE)
    lesson.page.locator("#tab-notebook").dispatch_event("click")
    body = lesson.frame.locator("body")
    assert lesson.frame.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert body.evaluate(TOO_WIDE) == []
    assert body.evaluate(TOO_NARROW) == []


def test_it_speaks_the_pages_language(lesson: Visit) -> None:
    """It says so too: browsers choose Chinese letters and line ends by it."""
    language = lesson.page.locator("html").get_attribute("lang")
    assert lesson.notebook.locator("html").get_attribute("lang") == language
    if language == "zh-TW":
        assert english(lesson.frame.locator("body").evaluate(SAID)) == []


def test_it_has_no_serious_issue(lesson: Visit) -> None:
    for scheme in SCHEMES:
        lesson.page.emulate_media(color_scheme=scheme)
        assert issues(lesson.frame) == []


def test_the_theme_reaches_it_at_once(lesson: Visit) -> None:
    light = lesson.frame.evaluate(COLOURS)
    lesson.page.locator("#theme").click()
    lesson.frame.wait_for_function("() => document.body.classList.contains('dark')")
    dark = lesson.frame.evaluate(COLOURS)
    assert all(before != after for before, after in zip(light, dark, strict=True))
    lesson.page.locator("#theme").click()
    lesson.frame.wait_for_function("() => !document.body.classList.contains('dark')")


def test_a_switch_and_a_link_look_like_what_they_are(lesson: Visit) -> None:
    for _ in SCHEMES:
        was_dark = lesson.frame.evaluate("() => document.body.classList.contains('dark')")
        lesson.page.locator("#theme").click()
        lesson.frame.wait_for_function("was => document.body.classList.contains('dark') !== was", arg=was_dark)
        lesson.frame.evaluate(COLOURS_STAND)
        body = lesson.frame.locator("body")
        looks = {on: {colour for is_on, colour in body.evaluate(SWITCHES) if is_on == on} for on in ("true", "false")}
        assert not looks["true"] & looks["false"]
        assert set(body.evaluate(LINKS)) <= {"underline"}


def test_its_saved_states_are_what_it_shows(lesson: Visit) -> None:
    for state in saved_states(lesson):
        assert_live_shows(lesson, state)
    assert_live_shows(lesson, {})


def test_it_prints_its_text_and_its_saved_chart(lesson: Visit) -> None:
    assert_prints(lesson.page)
