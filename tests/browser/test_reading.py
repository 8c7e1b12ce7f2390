"""Quizzes, glossary, questions and claims, as a reader uses them."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import LANGUAGES, Visit


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_choice_by_keyboard_brings_its_explanation_and_is_kept(visit: Visit, language: str) -> None:
    visit.open(f"{language}/quiz/")
    question = visit.page.locator(".question").first
    question.locator("input").first.focus()
    visit.page.keyboard.press("ArrowDown")
    chosen = question.locator(".option", has=visit.page.locator("input:checked"))
    expect(chosen.locator(".why")).to_be_visible()
    expect(question.locator(".why:visible")).to_have_count(1)
    expect(visit.page.locator("p.skip[role=status]")).to_have_text(chosen.locator(".why").text_content() or "")
    visit.page.reload()
    expect(question.locator("input").nth(1)).to_be_checked()
    visit.without_notebooks()
    visit.open(f"{language}/01-first-token/")
    expect(visit.page.locator(".question").first.locator("input").nth(1)).to_be_checked()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_result_page_names_the_lesson_to_reread(visit: Visit, language: str) -> None:
    visit.open(f"{language}/quiz/result/")
    fine = visit.page.locator("tr[data-lesson='01-first-token']")
    again = visit.page.locator("tr[data-lesson='02-kv-size']")
    expect(visit.page.locator("#reread")).to_be_hidden()
    expect(fine.locator("td.right")).to_have_text("0 / 3")

    visit.open(f"{language}/quiz/")
    visit.page.locator("[data-lesson='01-first-token'] .option.best input").evaluate_all(
        "all => all.map(i => i.click())"
    )
    visit.page.locator("[data-lesson='02-kv-size'] .option:not(.best) input").first.check()
    visit.page.locator("a.start").click()
    visit.page.wait_for_url(f"**/{language}/quiz/result/")
    expect(fine.locator(".advice")).to_have_text(fine.get_attribute("data-fine") or "")
    expect(fine.locator("td.right")).to_have_text("3 / 3")
    expect(again.locator(".advice")).to_have_text(again.get_attribute("data-reread") or "")
    title = again.locator("th").text_content() or ""
    expect(visit.page.locator("#reread")).to_contain_text(title)
    expect(visit.page.locator("#score")).to_contain_text("4")

    wrong = again.locator("[data-state=wrong]")
    expect(wrong).to_contain_text("✗")
    wrong.click()
    visit.page.wait_for_url(f"**/{language}/quiz/#q-*")
    expect(visit.page.locator(":target")).to_be_in_viewport()
    assert visit.problems == []


@pytest.mark.parametrize("kept", ["null", "[]", "7", "{"])
def test_answers_that_cannot_be_read_leave_a_quiz_that_works(visit: Visit, kept: str) -> None:
    visit.open("en/quiz/")
    visit.page.evaluate("kept => { localStorage['kvtiers.quiz'] = kept }", kept)
    visit.page.reload()
    option = visit.page.locator(".option input").first
    option.check()
    visit.page.reload()
    expect(option).to_be_checked()
    assert visit.problems == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_can_be_forgotten(visit: Visit, language: str) -> None:
    visit.open(f"{language}/quiz/")
    visit.page.locator(".option.best input").first.check()
    visit.page.locator("#forget").click()
    expect(visit.page.locator(".question input:checked")).to_have_count(0)
    visit.open(f"{language}/quiz/result/")
    expect(visit.page.locator("td.right").first).to_have_text("0 / 3")


def test_a_seed_gives_the_same_order_again_and_loses_no_question(visit: Visit) -> None:
    order = "() => [...document.querySelectorAll('.question input')].map(i => i.id)"
    visit.open("en/quiz/")
    plain = visit.page.evaluate(order)
    visit.open("en/quiz/?seed=7")
    shuffled = visit.page.evaluate(order)
    visit.open("en/quiz/?seed=7")
    assert visit.page.evaluate(order) == shuffled
    assert shuffled != plain
    assert sorted(shuffled) == sorted(plain)
    visit.page.locator("#shuffle").click()
    visit.page.wait_for_url("**/quiz/?seed=*")
    visit.page.locator("a.language").click()
    visit.page.wait_for_url("**/zh-TW/quiz/?seed=*")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_quiz_explains_without_javascript(browser: Browser, address: str, language: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{language}/quiz/")
    option = page.locator(".option").first
    expect(option.locator(".why")).to_be_hidden()
    option.locator("label").click()
    expect(option.locator(".why")).to_be_visible()
    context.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_value_and_a_term_lead_to_their_entries(visit: Visit, language: str) -> None:
    visit.without_notebooks()
    for link, page in ((".claim", "claims"), (".term", "glossary")):
        visit.open(f"{language}/01-first-token/")
        visit.page.locator(f"article {link}").first.click()
        visit.page.wait_for_url(f"**/{language}/{page}/#*")
        expect(visit.page.locator(":target")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "anchor"),
    [
        ("07-operate-it/", "runbook"),
        ("07-operate-it/", "what-people-get-wrong"),
        ("glossary/", "eviction"),
        ("questions/", None),
        ("claims/", None),
        ("quiz/", None),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_switch_stays_at_the_section_that_is_read(
    visit: Visit, language: str, path: str, anchor: str | None
) -> None:
    other = LANGUAGES[1 - LANGUAGES.index(language)]
    visit.without_notebooks()
    visit.page.set_viewport_size({"width": 1280, "height": 400})  # short, so that every page has to scroll
    visit.open(f"{language}/{path}")
    anchored = visit.page.locator("main :is(h2, section, fieldset, dl > div)[id]:not(#notebook, #quiz)")
    place = visit.page.locator(f"[id='{anchor}']") if anchor else anchored.nth(anchored.count() // 3)
    name = place.get_attribute("id")
    place.evaluate("element => element.scrollIntoView()")
    visit.page.locator("a.language").focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url(f"**/{other}/{path}#{name}")
    expect(visit.page.locator(":target")).to_be_in_viewport()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_ledger_shows_the_entries_that_hold_every_word(visit: Visit, language: str) -> None:
    visit.open(f"{language}/claims/")
    rows = visit.page.locator(".claims > div:visible")
    everything = rows.count()
    visit.page.locator("#filter").fill("lmcache cache_engine")
    assert 0 < rows.count() < everything
    expect(visit.page.locator(".filter [role=status]")).to_contain_text(str(rows.count()))
    expect(rows.first.locator("a[href*='cache_engine.py']")).to_be_visible()
    visit.page.locator("#filter").fill("zzzqqq")
    expect(visit.page.locator(".ledger:visible")).to_have_count(0)


@pytest.mark.parametrize(("asked", "shown"), [("zh-TW", "zh-TW"), ("en-GB", "en"), ("de", "en")])
def test_the_sites_own_address_follows_the_browsers_language(
    browser: Browser, address: str, asked: str, shown: str
) -> None:
    context = browser.new_context(locale=asked)
    page = context.new_page()
    page.goto(f"{address}/")
    expect(page.locator("html")).to_have_attribute("lang", shown)
    page.locator("a.start").click()
    page.wait_for_url(f"{address}/{shown}/01-first-token/")
    context.close()
