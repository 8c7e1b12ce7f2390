"""A notebook as it is seen: what the saved view shows stays in its place when it goes live, nothing is off a phone's
screen or one letter wide, the theme reaches it, and a Chinese page speaks Chinese. One start of Python a page."""

import re

import pytest
from playwright.sync_api import Frame, ViewportSize, expect

from tests.browser.conftest import ALL_PAGES, LANGUAGES, LESSONS, LIVE_MS, PROJECT, Visit

PHONE: ViewportSize = {"width": 360, "height": 740}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
STILL_PX = 8
# Each takes a start of Python. Chinese is the harder one for words; the widest evidence is lesson 6's, in English.
LOOKED_AT = [*(("zh-TW", lesson) for lesson in LESSONS), ("en", "06-prove-it")]
ENGLISH = re.compile(r"[A-Za-z][a-z']+(?: [A-Za-z][a-z']*){2,}")
MARKED = re.compile(r"「[^」]*」|“[^”]*”|\"[^\"]*\"|'[^']*'|python -m [\w -]+|vllm serve \S+")
QUOTED = (
    "No module named",
    "Prefetch request completed",
    "Retrieved … tokens in",
    "Stored … out of total",
    "Local disk cache",
)
"""Lines of the engines' logs, which are English in every language."""

# Every element, shadow trees included, and functions that the checks below share.
DEEP = """
  const all = [];
  const walk = (tree) => {
    for (const e of tree.querySelectorAll("*")) {
      all.push(e);
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(root);
  const above = (e) => e.parentElement ?? e.getRootNode().host;
  const box = (e) => e.getBoundingClientRect();
"""
TOO_WIDE = f"""root => {{ {DEEP}
  const scrolls = (e) => /auto|scroll|hidden/.test(getComputedStyle(e).overflowX) && box(e).right <= innerWidth + 1;
  const held = (e) => {{ for (let p = above(e); p; p = above(p)) if (scrolls(p)) return true; }};
  const name = (e) => `${{e.tagName}}.${{e.className.baseVal ?? e.className}} ${{e.textContent.trim().slice(0, 40)}}`;
  const isOff = (e) => !e.closest("svg *") && box(e).width && box(e).right > innerWidth + 1;
  return all.filter((e) => isOff(e) && !held(e)).map(name);
}}"""
TOO_NARROW = f"""root => {{ {DEEP}
  const found = [];
  for (const e of all) for (const text of e.childNodes) {{
    if (text.nodeType !== 3 || text.data.trim().length < 9 || e.closest("svg, style, script, pre")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const lines = new Set([...range.getClientRects()].map(({{ top }}) => Math.round(top))).size;
    if (lines > 3 && text.data.trim().length / lines < 5) found.push(text.data.trim().slice(0, 40));
  }}
  return found;
}}"""
PLACES = f"""root => {{ {DEEP}
  const kinds = "h1, h2, svg[role=img], .mo-label, .control, .admonition, .callout";
  const top = window.frameElement ? box(window.frameElement).top : 0;
  return all.filter((e) => e.matches(kinds) && box(e).height).map((e) => Math.round(box(e).top + top));
}}"""
SAID = f"""root => {{ {DEEP}
  const code = "code, pre, textarea, select, style, script, .cm-editor";
  const texts = all.filter((e) => !e.closest(code)).flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3);
  const spoken = ["aria-label", "title", "placeholder", "alt"];
  const names = all.flatMap((e) => spoken.map((name) => e.getAttribute(name) ?? ""));
  const shown = texts.filter((text) => text.parentElement?.checkVisibility() ?? true).map((text) => text.data);
  return [...shown, ...names];
}}"""
COLOURS = """() => [document.body, document.querySelector("svg[role=img] text") ?? document.querySelector("h1")].map(
  (e, at) => getComputedStyle(e)[at ? "color" : "backgroundColor"])"""


def english(texts: list[str]) -> list[str]:
    """The texts that hold three English words in a row, outside of quotation marks."""
    return [text for text in texts if ENGLISH.search(MARKED.sub("", text)) and not any(line in text for line in QUOTED)]


def live_frame(visit: Visit) -> Frame:
    """The notebook of the lesson that is open, once it is live and all of it is drawn."""
    visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    frame = next(frame for frame in visit.page.frames if "/notebooks/" in frame.url)
    frame.wait_for_function("() => !document.querySelector('marimo-code-editor:not(:defined)')")
    return frame


@pytest.mark.parametrize(("language", "lesson"), LOOKED_AT)
def test_a_notebook_stays_in_place_fits_a_phone_and_speaks_its_language(
    visit: Visit, language: str, lesson: str
) -> None:
    visit.page.set_viewport_size(PHONE)
    visit.open(f"{language}/{lesson}/#notebook")
    saved = {"phone": visit.page.locator("#saved").evaluate(PLACES)}
    assert visit.page.locator("#saved").evaluate(TOO_NARROW) == []
    visit.page.set_viewport_size(DESKTOP)
    saved["desktop"] = visit.page.locator("#saved").evaluate(PLACES)
    frame = live_frame(visit)
    body = frame.locator("body")
    for width, size in (("desktop", DESKTOP), ("phone", PHONE)):
        visit.page.set_viewport_size(size)
        frame.wait_for_function(f"count => ({PLACES})(document.body).length === count", arg=len(saved[width]))
        live = body.evaluate(PLACES)
        pairs = list(zip(saved[width], live, strict=True))
        assert [pair for pair in pairs if min(pair) < size["height"] and abs(pair[0] - pair[1]) > STILL_PX] == []
    assert frame.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert body.evaluate(TOO_WIDE) == []
    assert body.evaluate(TOO_NARROW) == []
    if language == "zh-TW":
        assert english(body.evaluate(SAID)) == []


@pytest.mark.parametrize("page", ALL_PAGES)
def test_a_page_fits_a_phone_in_both_languages_and_a_chinese_one_shows_no_english(visit: Visit, page: str) -> None:
    visit.without_notebooks()
    visit.page.set_viewport_size(PHONE)
    for language in LANGUAGES:
        visit.open(f"{language}/{page}")
        body = visit.page.locator("body")
        assert visit.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        assert body.evaluate(TOO_WIDE) == []
        assert body.evaluate(TOO_NARROW) == []
    assert english(body.evaluate(SAID)) == []


def test_the_theme_reaches_the_live_notebook_at_once_and_after_a_reload(visit: Visit) -> None:
    visit.open("en/04-which-tier/")
    frame = live_frame(visit)
    light = frame.evaluate(COLOURS)
    visit.page.locator("#theme").click()
    frame.wait_for_function("() => document.body.classList.contains('dark')")
    dark = frame.evaluate(COLOURS)
    assert all(before != after for before, after in zip(light, dark, strict=True))
    visit.page.reload()
    assert live_frame(visit).evaluate(COLOURS) == dark


def test_the_doctor_leads_to_the_lesson_by_its_title_also_after_new_settings(visit: Visit) -> None:
    notebook = visit.open_live("zh-TW/05-wire-it/")
    links = notebook.locator("marimo-callout-output a[target=_top]")
    expect(links.first).to_have_text(re.compile(r"^\d · "))
    box = notebook.locator("textarea").last
    box.fill("export LMCACHE_LOCAL_CPU=no")
    box.blur()
    expect(links).to_have_count(notebook.locator("marimo-callout-output", has_text="課程頁面").count())
    box.fill("a: [\n  b: {")
    box.blur()
    expect(links).to_have_count(0)
    assert english(notebook.locator("body").evaluate(SAID)) == []
    links_home = visit.page.locator("#saved a[href='../05-wire-it/']")
    assert links_home.count() > 0


def test_an_upload_is_told_in_the_pages_language(visit: Visit) -> None:
    notebook = visit.open_live("zh-TW/06-prove-it/")
    result = PROJECT / "lab" / "results" / "reference" / "cpu-tiny-long.json"
    notebook.locator("input[type=file]").first.set_input_files(result)
    expect(notebook.locator("marimo-file").get_by_text("已上傳")).to_be_visible()
    assert english(notebook.locator("body").evaluate(SAID)) == []


def test_the_second_skip_link_leads_past_the_text_into_the_notebook(visit: Visit) -> None:
    visit.open_live("en/02-kv-size/")
    for key in ("Tab", "Tab", "Enter"):
        visit.page.keyboard.press(key)
    tabs = 0
    while visit.page.evaluate("() => document.activeElement.id") != "live" and tabs < 10:
        visit.page.keyboard.press("Tab")
        tabs += 1
    assert tabs < 8
