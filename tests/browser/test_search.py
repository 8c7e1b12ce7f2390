"""Search over both languages, as a reader uses it."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import LANGUAGES, Visit


def search(visit: Visit, words: str) -> Locator:
    """The results for `words`, search opened with the button."""
    visit.page.locator("#find").click()
    visit.page.locator("#words").fill(words)
    return visit.page.locator("#found li")


FOUND = {
    "en": {
        "max_local_disk_size": "05-wire-it",
        "disk_size": "05-wire-it",
        "eviction": "glossary",
        "evicton": "glossary",
        "page cache": "07-operate-it",
        "break-even": "03-load-or-recompute",
    },
    "zh-TW": {
        "max_local_disk_size": "05-wire-it",
        "分頁快取": "07-operate-it",
        "頁面快取": "glossary",
        "逐出": "glossary",
        "分頭": "glossary",
        "重算": "03-load-or-recompute",
        "KV頭": "02-kv-size",
    },
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_is_found_where_it_stands(visit: Visit, language: str) -> None:
    visit.open(f"{language}/")
    for words, page in FOUND[language].items():
        results = search(visit, words)
        expect(results.locator(f"a[href*='{language}/{page}/']").first, words).to_be_visible()
        expect(visit.page.locator("#found-count"), words).to_contain_text(str(results.count()))
        visit.page.locator("#words").fill("")
        expect(results).to_have_count(0)
        visit.page.locator("#search-close").click()
    assert visit.problems == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pages_own_language_comes_first_and_the_other_is_marked(visit: Visit, language: str) -> None:
    other = LANGUAGES[1 - LANGUAGES.index(language)]
    visit.open(f"{language}/")
    results = search(visit, "LMCache")
    expect(results.first).to_be_visible()
    tongues = [entry.get_attribute("lang") for entry in results.all()]
    assert tongues == sorted(tongues, key=lambda tongue: tongue != language)
    assert other in tongues
    marked = visit.page.locator(f"#found li[lang='{other}']")
    expect(marked.locator(".tongue")).to_have_count(marked.count())


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_works_by_keyboard_from_opening_to_the_section(visit: Visit, language: str) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/01-first-token/")
    visit.page.keyboard.press("/")
    expect(visit.page.locator("#words")).to_be_focused()
    visit.page.keyboard.type("max_local_disk_size")
    link = visit.page.locator("#found a").first
    expect(link).to_be_visible()
    visit.page.keyboard.press("ArrowDown")
    expect(link).to_be_focused()
    visit.page.keyboard.press("ArrowUp")
    expect(visit.page.locator("#words")).to_be_focused()
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator("#search")).to_be_hidden()
    visit.page.keyboard.press("/")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(re.compile(rf"/{language}/[^#]+/(#[a-z0-9-]+)?$"))
    if "#" in visit.page.url:
        expect(visit.page.locator(":target")).to_be_in_viewport()


def test_a_result_on_the_same_page_closes_the_search_and_scrolls(visit: Visit) -> None:
    visit.without_notebooks()
    visit.open("en/07-operate-it/")
    search(visit, "runbook").locator("a[href$='07-operate-it/#runbook']").click()
    expect(visit.page.locator("#search")).to_be_hidden()
    expect(visit.page.locator("#runbook")).to_be_in_viewport()


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_found_is_said(visit: Visit, language: str) -> None:
    visit.open(f"{language}/")
    expect(search(visit, "zzzqqq")).to_have_count(0)
    expect(visit.page.locator("#found-count")).not_to_be_empty()


def test_markup_in_the_search_words_stays_text(visit: Visit) -> None:
    visit.open("en/")
    search(visit, "<img src=x> (KV [cache]*")
    visit.page.wait_for_function("() => document.getElementById('found-count').textContent !== ''")
    expect(visit.page.locator("#found img")).to_have_count(0)
    assert visit.problems == []


def test_nothing_of_the_search_is_loaded_before_it_is_opened(visit: Visit) -> None:
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.open("en/")
    visit.page.wait_for_load_state("networkidle")
    assert not any("search" in url for url in asked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_search_that_cannot_be_loaded_is_said_and_can_be_closed(visit: Visit, language: str) -> None:
    visit.page.route("**/minisearch.js", lambda route: route.abort())
    visit.open(f"{language}/")
    visit.page.locator("#find").click()
    count = visit.page.locator("#found-count")
    expect(count).to_be_visible()
    expect(count).to_have_text(count.get_attribute("data-failed") or "")
    visit.page.locator("#search-close").click()
    expect(visit.page.locator("#search")).to_be_hidden()


def test_an_input_methods_enter_opens_no_result(visit: Visit) -> None:
    visit.open("zh-TW/")
    expect(search(visit, "快取").first).to_be_visible()
    press = """(field, isComposing) => {
      const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, isComposing });
      field.dispatchEvent(event);
      return document.getElementById("search").open;
    }"""
    still_open = visit.page.locator("#words").evaluate(press, True)
    assert still_open
    assert visit.page.url.endswith("/zh-TW/")
    visit.page.locator("#words").evaluate(press, False)
    visit.page.wait_for_url(re.compile(r"/zh-TW/.+"))


def test_an_index_that_does_not_come_is_said(visit: Visit) -> None:
    visit.page.route("**/search.json", lambda route: route.abort())
    visit.open("en/")
    search(visit, "KV")
    expect(visit.page.locator("#found-count")).to_contain_text("could not be loaded")


def test_search_works_from_a_sub_path(sub_path: Visit) -> None:
    sub_path.open("en/quiz/")
    search(sub_path, "eviction").locator("a[href*='glossary/#eviction']").first.click()
    sub_path.page.wait_for_url(f"{sub_path.address}/en/glossary/#eviction")
    expect(sub_path.page.locator(":target")).to_be_visible()
    assert sub_path.problems == []


@pytest.mark.parametrize(("language", "words"), [("en", "SSD"), ("zh-TW", "快取")])
def test_lessons_come_before_questions_and_no_title_is_a_bare_number(visit: Visit, language: str, words: str) -> None:
    visit.open(f"{language}/")
    results = search(visit, words)
    expect(results.first).to_be_visible()
    own = visit.page.locator(f"#found li[lang='{language}'] a").evaluate_all("all => all.map(a => a.href)")
    asks = ["/quiz/#" in address for address in own]
    assert asks == sorted(asks)
    search_titles = visit.page.locator("#found strong").all_text_contents()
    assert all(re.search(r"[^\W\d_]", title) for title in search_titles)
