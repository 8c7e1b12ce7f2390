"""What goes onto paper."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LANGUAGES, Visit


def assert_prints(page: Page) -> None:
    """A lesson's text and its saved chart, or settings, go onto paper; the page's frame does not."""
    page.emulate_media(media="print", color_scheme="dark")
    for shown in ("article h1", "article .question", "#saved :is(svg[role=img], pre)"):
        expect(page.locator(shown).first).to_be_visible()
    for hidden in (".top", ".bar", ".around", "#live", "#divider", "#search"):
        expect(page.locator(hidden).first).to_be_hidden()
    assert page.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(0, 0, 0)"
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lesson_prints_before_its_notebook_is_live(visit: Visit, language: str) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/02-kv-size/")
    assert_prints(visit.page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_quiz_prints_the_explanations_that_are_open(visit: Visit, language: str) -> None:
    visit.open(f"{language}/quiz/")
    visit.page.locator(".option input").first.check()
    visit.page.emulate_media(media="print")
    expect(visit.page.locator(".why:visible")).to_have_count(1)
    expect(visit.page.locator(".tools")).to_be_hidden()
    expect(visit.page.locator(".question")).to_have_count(visit.page.locator(".question:visible").count())
