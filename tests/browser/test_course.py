"""What a reader does with the course, in a real browser."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LANGUAGES, LIVE_MS, Live, Visit
from tests.browser.looks import COLOURS


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_chart_is_there_at_once(visit: Visit, language: str) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/02-kv-size/")
    expect(visit.page.locator("#saved svg[role=img]").first).to_be_visible(timeout=1000)
    assert visit.page.locator("#notebook").get_attribute("data-state") == "starting"


@pytest.mark.parametrize(
    ("language", "lost"),
    [("en", "**/assets/worker-*.js"), ("zh-TW", "**/pyodide.core.mjs"), ("en", "**/core.bin"), ("en", "**/zstd.wasm")],
)
def test_a_page_whose_python_cannot_start_says_so(visit: Visit, language: str, lost: str) -> None:
    visit.page.route(lost, lambda route: route.fulfill(status=404, body=""))
    visit.open(f"{language}/02-kv-size/")
    visit.page.locator('[data-state="failed"]').wait_for(timeout=LIVE_MS)
    expect(visit.page.locator("#saved svg[role=img]").first).to_be_visible()


def test_a_page_that_lost_its_memory_image_goes_live_without(visit: Visit) -> None:
    visit.page.route("**/memory-1.bin", lambda route: route.fulfill(status=404, body=""))
    visit.open_live("en/02-kv-size/")


def test_a_slider_changes_its_chart(live: Live) -> None:
    notebook = live("en/02-kv-size/").notebook
    chart = notebook.locator("svg[role=img]").last
    before = chart.get_attribute("aria-label")
    notebook.locator("[role=slider]").last.press("ArrowLeft")
    expect(chart).not_to_have_attribute("aria-label", before or "")


def test_a_config_can_be_dropped(live: Live, tmp_path: Path) -> None:
    config = {"num_hidden_layers": 10, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 64}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    notebook = live("en/02-kv-size/").notebook
    notebook.locator("select").first.select_option("config.json")
    notebook.locator("input[type=file]").first.set_input_files(file)
    expect(notebook.get_by_text("2.5 KiB").first).to_be_visible()


def test_fp8_flips_the_judge_and_a_reload_keeps_that_and_the_theme(visit: Visit) -> None:
    notebook = visit.open_live("zh-TW/04-which-tier/")
    chart = notebook.locator("svg[role=img][aria-label*='16 GiB']")
    expect(chart).to_have_count(1)
    notebook.locator("select").first.select_option("fp8")
    expect(notebook.locator("svg[role=img][aria-label*='8 GiB'][aria-label*='VRAM']").first).to_be_visible()
    expect(chart).to_have_count(0)
    visit.page.wait_for_url("**?kv_type=fp8")
    visit.page.locator("#theme").click()
    visit.frame.wait_for_function("() => document.body.classList.contains('dark')")
    dark = visit.frame.evaluate(COLOURS)
    visit.page.reload()
    visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    expect(chart).to_have_count(0)
    assert visit.frame.evaluate(COLOURS) == dark


def test_the_course_works_from_any_sub_path(sub_path: Visit) -> None:
    sub_path.open_live("en/02-kv-size/")
    sub_path.page.locator("a.language").click()
    expect(sub_path.page.locator("html")).to_have_attribute("lang", "zh-TW")
    assert sub_path.problems == []


def test_a_notebook_downloaded_below_a_sub_path_names_the_wheel_there(sub_path: Visit) -> None:
    sub_path.without_notebooks()
    sub_path.open("en/02-kv-size/")
    with sub_path.page.expect_download() as downloading:
        sub_path.page.locator("#download").click()
    assert f'"kvtiers @ {sub_path.address}/wheels/kvtiers-' in downloading.value.path().read_text()


def test_a_download_that_is_not_there_leads_to_the_page_that_says_so(visit: Visit) -> None:
    visit.without_notebooks()
    visit.page.route("**/02_kv_size.py", lambda route: route.fulfill(status=404, body="not found"))
    visit.open("en/02-kv-size/")
    visit.page.locator("#download").click()
    visit.page.wait_for_url("**/02_kv_size.py")
    expect(visit.page.locator("body")).to_have_text("not found")


def test_a_downloaded_notebook_runs_elsewhere_while_the_site_is_reachable(visit: Visit, tmp_path: Path) -> None:
    visit.without_notebooks()
    visit.open("zh-TW/02-kv-size/")
    with visit.page.expect_download() as downloading:
        visit.page.locator("#download").click()
    notebook, out = tmp_path / "notebook.py", tmp_path / "notebook.html"
    downloading.value.save_as(notebook)
    assert f'"kvtiers @ {visit.address}/wheels/' in notebook.read_text()
    uvx = Path(sys.executable).with_name("uvx")
    command = [uvx, "marimo", "export", "html", "--sandbox", notebook, "-o", out]
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "128 KiB" in out.read_text()


def test_the_keyboard_reaches_every_control(live: Live) -> None:
    visit = live("en/02-kv-size/")
    notebook = visit.notebook
    wanted = notebook.locator("[role=slider], select").count()
    visit.page.locator("#edit").focus()
    frame = visit.frame
    reached = 0
    for _ in range(40):
        visit.page.keyboard.press("Tab")
        reached = frame.evaluate(
            """() => {
              let e = document.activeElement;
              while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
              window.reached ??= new Set();
              if (e?.matches("[role=slider], select")) window.reached.add(e);
              return window.reached.size;
            }"""
        )
    assert reached == wanted


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_switch_stays_on_the_lesson(visit: Visit, language: str) -> None:
    other = LANGUAGES[1 - LANGUAGES.index(language)]
    visit.without_notebooks()
    visit.open(f"{language}/03-load-or-recompute/")
    visit.page.locator("a.language").click()
    assert visit.page.url.endswith(f"/{other}/03-load-or-recompute/")
    assert visit.page.locator("html").get_attribute("lang") == other


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh-TW", 360)])
def test_the_landing_page_leads_to_a_running_example(visit: Visit, language: str, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 740})
    visit.open(f"{language}/")
    visit.page.locator("a.start").click()
    visit.page.wait_for_url("**/01-first-token/")
    if width < 400:
        visit.page.locator("#tab-notebook").click()
    visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    chart = visit.notebook.locator("svg[role=img]").first
    if width < 400:  # a phone shows the question above it first
        chart.scroll_into_view_if_needed()
    expect(chart).to_be_in_viewport()
    assert visit.problems == []


def test_the_language_switch_keeps_the_notebook_tab(visit: Visit) -> None:
    visit.without_notebooks()
    visit.page.set_viewport_size({"width": 360, "height": 740})
    visit.open("en/02-kv-size/")
    visit.page.locator("#tab-notebook").click()
    visit.page.locator("a.language").click()
    visit.page.wait_for_url("**/zh-TW/02-kv-size/#notebook")
    expect(visit.page.locator("#notebook")).to_be_visible()
    expect(visit.page.locator("article")).to_be_hidden()


def test_a_page_that_does_not_exist_is_styled_at_any_depth_and_leads_home(visit: Visit) -> None:
    visit.open("en/no/such/page")
    assert visit.page.locator("main").evaluate("main => getComputedStyle(main).maxWidth") != "none"
    visit.page.locator("main a[href$='/zh-TW/']").click()
    expect(visit.page.locator("html")).to_have_attribute("lang", "zh-TW")


def test_the_theme_is_remembered_and_another_sites_is_not_taken_for_it(visit: Visit) -> None:
    visit.open("en/")
    visit.page.evaluate("() => { localStorage.theme = 'dark' }")
    visit.page.reload()
    expect(visit.page.locator("html")).to_have_attribute("data-theme", "")
    visit.page.locator("#theme").click()
    visit.page.reload()
    expect(visit.page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_divider_moves_by_keyboard_and_is_remembered(visit: Visit) -> None:
    visit.without_notebooks()
    visit.open("en/02-kv-size/")
    divider = visit.page.locator("#divider")
    before = divider.get_attribute("aria-valuenow")
    divider.press("ArrowRight")
    after = divider.get_attribute("aria-valuenow")
    assert before != after
    visit.page.reload()
    expect(divider).to_have_attribute("aria-valuenow", after or "")


def test_the_second_skip_link_leads_past_the_text_into_the_notebook(live: Live) -> None:
    visit = live("en/02-kv-size/")
    visit.page.locator("a").first.focus()  # the first skip link
    for key in ("Tab", "Enter"):
        visit.page.keyboard.press(key)
    tabs = 0
    while visit.page.evaluate("() => document.activeElement.id") != "live" and tabs < 10:
        visit.page.keyboard.press("Tab")
        tabs += 1
    assert tabs < 8
