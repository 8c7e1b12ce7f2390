"""axe-core over every page, in both languages, light and dark: no serious or critical issue, contrast AA included."""

import json
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Frame, Page

from tests.browser.conftest import ALL_PAGES, LANGUAGES, LESSONS, Visit

SERIOUS = ("serious", "critical")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def issues(page: Page | Frame) -> list[str]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [
        json.dumps([issue["id"], [node["target"] for node in issue["nodes"][:3]], issue["nodes"][0]["failureSummary"]])
        for issue in found
        if issue["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("page", ALL_PAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_has_no_serious_issue(visit: Visit, language: str, page: str) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/{page}")
    for scheme in SCHEMES:
        visit.page.emulate_media(color_scheme=scheme)
        assert issues(visit.page) == []


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
    visit.page.set_viewport_size({"width": 360, "height": 740})
    visit.open(f"{language}/02-kv-size/#notebook")
    assert issues(visit.page) == []


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_live_notebook_has_no_serious_issue(visit: Visit, lesson: str) -> None:
    language = LANGUAGES[LESSONS.index(lesson) % 2]  # both have the same cells; one start of Python a lesson is enough
    visit.open_live(f"{language}/{lesson}/")
    frame = next(frame for frame in visit.page.frames if "/notebooks/" in frame.url)
    frame.wait_for_function("() => !document.querySelector('marimo-code-editor:not(:defined)')")
    for scheme in SCHEMES:
        visit.page.emulate_media(color_scheme=scheme)
        assert issues(frame) == []
