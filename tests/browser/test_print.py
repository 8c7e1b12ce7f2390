"""What goes onto paper."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LANGUAGES, Visit


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lesson_prints_its_text_and_its_saved_chart_without_the_frame(
    visit: Visit, language: str, live: bool
) -> None:
    if live:
        visit.open_live(f"{language}/02-kv-size/")
    else:
        visit.without_notebooks()
        visit.open(f"{language}/02-kv-size/")
    visit.page.emulate_media(media="print", color_scheme="dark")
    for shown in ("article h1", "article .question", "#saved svg[role=img]"):
        expect(visit.page.locator(shown).first).to_be_visible()
    for hidden in (".top", ".bar", ".around", "#live", "#divider", "#search"):
        expect(visit.page.locator(hidden).first).to_be_hidden()
    assert visit.page.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(0, 0, 0)"
    assert len(visit.page.pdf()) > 10_000


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_quiz_prints_the_explanations_that_are_open(visit: Visit, language: str) -> None:
    visit.open(f"{language}/quiz/")
    visit.page.locator(".option input").first.check()
    visit.page.emulate_media(media="print")
    expect(visit.page.locator(".why:visible")).to_have_count(1)
    expect(visit.page.locator(".tools")).to_be_hidden()
    expect(visit.page.locator(".question")).to_have_count(visit.page.locator(".question:visible").count())
