"""Every page around the notebooks, in both languages, looked at in one load: it starts no Python.

Each page is loaded on a wide screen in one language and on a phone in the other, and looked at by axe in the light in
one and in the dark in the other; page by page these change places.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import ALL_PAGES, DESKTOP, LANGUAGES, PHONE, READING, Visit, visiting
from tests.browser.looks import (
    IDLE,
    RECORD,
    SAID,
    SCHEMES,
    STILL,
    TOO_NARROW,
    TOO_WIDE,
    Scheme,
    english,
    issues,
    refused,
)
from tests.lessons.test_chinese import OTHER_WORDS

WEIGHT_BYTES = 200_000
# Bytes over the wire of the page's own document; the notebook is a document of its own.
WEIGHT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter(entry => entry.initiatorType !== "iframe").reduce((sum, entry) => sum + entry.transferSize, 0)"""


class Look(NamedTuple):
    """How a page is looked at."""

    language: str
    page: str
    is_phone: bool
    scheme: Scheme


LOOKS = [
    Look(language, page, is_phone=(number + at) % 2 == 1, scheme=SCHEMES[(number // 2 + at) % 2])
    for (number, page), (at, language) in product(enumerate(ALL_PAGES), enumerate(LANGUAGES))
]


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: f"{look.language}/{look.page}")
def opened(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    look: Look = request.param
    with visiting(browser, address) as visit:
        visit.page.set_viewport_size(PHONE if look.is_phone else DESKTOP)
        visit.page.emulate_media(color_scheme=look.scheme)
        visit.page.add_init_script(RECORD)
        visit.without_notebooks()
        visit.open(f"{look.language}/{look.page}")
        visit.page.wait_for_load_state("networkidle")
        visit.page.evaluate(IDLE)
        visit.page.evaluate(f"() => {{ window.first = {{ shift: window.shift, weight: ({WEIGHT})() }} }}")
        yield visit


def test_a_page_weighs_little_and_nothing_in_it_moves(opened: Visit) -> None:
    first = opened.page.evaluate("window.first")
    assert first["shift"] < STILL
    assert first["weight"] <= WEIGHT_BYTES


def test_a_page_fits_a_phone(opened: Visit) -> None:
    opened.page.set_viewport_size(PHONE)
    body = opened.page.locator("body")
    assert opened.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert body.evaluate(TOO_WIDE) == []
    assert body.evaluate(TOO_NARROW) == []
    if opened.page.locator("#saved").count():
        opened.page.locator("#tab-notebook").click()
        assert opened.page.locator("#saved").evaluate("saved => saved.scrollWidth - saved.clientWidth") <= 0


def test_a_chinese_page_shows_no_english(opened: Visit) -> None:
    if opened.page.locator("html").get_attribute("lang") == "zh-TW":
        said = opened.page.locator("body").evaluate(SAID)
        assert english(said) == []
        assert [text for text in said if OTHER_WORDS.search(text)] == []


def test_a_page_has_no_serious_issue(opened: Visit) -> None:
    assert issues(opened.page) == []


def test_a_page_asks_for_nothing_the_policy_refuses(opened: Visit) -> None:
    opened.page.locator("#find").click()
    opened.page.locator("#words").fill("KV")
    opened.page.locator("#found a").first.wait_for()
    opened.page.locator("#search-close").click()
    assert refused(opened.page) == []
    assert opened.problems == []


def test_the_404_page_has_no_serious_issue(visit: Visit) -> None:
    visit.open("no/such/page")
    assert visit.page.locator("h1").text_content() == "404"
    for scheme in SCHEMES:
        visit.page.emulate_media(color_scheme=scheme)
        assert issues(visit.page) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_open_search_the_explained_quiz_and_the_notebook_tab_have_no_serious_issue(
    visit: Visit, language: str
) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/quiz/")
    visit.page.locator("#show-all").check()
    assert issues(visit.page) == []
    visit.page.locator("#find").click()
    visit.page.locator("#words").fill("KV")
    visit.page.locator("#found a").first.wait_for()
    assert issues(visit.page) == []
    visit.page.set_viewport_size(PHONE)
    visit.open(f"{language}/02-kv-size/#notebook")
    assert issues(visit.page) == []


@pytest.mark.parametrize("place", READING)
def test_the_language_switch_stays_on_the_page(visit: Visit, place: str) -> None:
    visit.open(f"{LANGUAGES[0]}/{place}/")
    for other in reversed(LANGUAGES):
        visit.page.locator("a.language").click()
        expect(visit.page).to_have_url(f"{visit.address}/{other}/{place}/")
        expect(visit.page.locator("html")).to_have_attribute("lang", other)
    assert visit.problems == []
