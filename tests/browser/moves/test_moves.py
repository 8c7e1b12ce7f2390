"""What a reader moves before Python is there, and what becomes of it when it comes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from tests.browser.conftest import LANGUAGES, LIVE_MS, Visit
from tests.browser.looks import RECORD, issues, refused

LABEL = "aria-label"
ASKED_MS = 50
FOCUSED = """() => {
  let e = document.activeElement;
  const page = e.contentDocument;
  for (e = page?.activeElement; e?.shadowRoot?.activeElement;) e = e.shadowRoot.activeElement;
  return [e?.role, e?.ariaValueNow];
}"""


def opened(visit: Visit, path: str) -> Visit:
    """A lesson whose Python does not come, its controls unlocked."""
    visit.without_notebooks()
    visit.open(path)
    visit.page.locator("#saved:not([inert])").wait_for()
    return visit


def control(visit: Visit, name: str) -> Locator:
    return visit.page.locator(f'#saved [data-control="{name}"] :is(input, select, textarea)')


def charts(visit: Visit) -> Locator:
    return visit.page.locator("#saved svg[role=img]")


@contextmanager
def without_core(visit: Visit) -> Iterator[Callable[[], None]]:
    """Python waits for its core until the function is called."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    visit.page.context.route("**/core.bin", hold)

    def release() -> None:
        for _ in range(LIVE_MS // ASKED_MS):
            if waiting:
                break
            visit.page.wait_for_timeout(ASKED_MS)  # the route's handler runs meanwhile
        waiting.pop().continue_()

    yield release


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_key_moves_a_slider_its_chart_its_figures_and_the_address(visit: Visit, language: str) -> None:
    opened(visit, f"{language}/02-kv-size/")
    before = charts(visit).first.get_attribute(LABEL)
    layers = control(visit, "layers")
    layers.focus()
    visit.page.keyboard.press("ArrowRight")
    expect(charts(visit).first).not_to_have_attribute(LABEL, before or "")
    expect(layers).to_be_focused()
    shown = visit.page.locator('#saved [data-control="layers"] output').inner_text()
    assert int(shown) > 32
    visit.page.wait_for_url(f"**?layers={shown}")
    visit.page.keyboard.press("ArrowLeft")
    expect(charts(visit).first).to_have_attribute(LABEL, before or "")
    visit.page.wait_for_url("**/02-kv-size/")


def test_a_slider_is_dragged_from_place_to_place(visit: Visit) -> None:
    opened(visit, "en/08-training/")
    slider = control(visit, "vram_gib")
    box = slider.bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    visit.page.mouse.move(box["x"] + 4, middle)
    visit.page.mouse.down()
    labels = set()
    for part in range(1, 10):
        visit.page.mouse.move(box["x"] + box["width"] * part / 10, middle)
        labels.add(charts(visit).first.get_attribute(LABEL))
    visit.page.mouse.up()
    assert len(labels) > 5
    visit.page.wait_for_url(f"**?vram_gib={slider.input_value()}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_beyond_what_is_saved_the_value_stays_and_python_is_announced(visit: Visit, language: str) -> None:
    opened(visit, f"{language}/02-kv-size/?layers=40")
    control(visit, "free_vram_gib").fill("30")
    expect(visit.page.locator("#saved .beyond svg[role=img]").first).to_be_visible()
    state = visit.page.locator("#state")
    expect(state).to_have_text(state.get_attribute("data-beyond") or "")
    assert control(visit, "layers").input_value() == "40"
    control(visit, "layers").press("Home")
    control(visit, "layers").fill("32")
    expect(visit.page.locator("#saved .beyond")).to_have_count(0)


def test_a_number_is_typed_and_answered_where_it_is_saved(visit: Visit) -> None:
    opened(visit, "en/06-prove-it/")
    drive, beyond = control(visit, "own_drive_gb_per_s"), visit.page.locator("#saved .beyond")
    result = visit.page.locator("#saved .callout", has_text="of a ceiling of")
    before = result.inner_text()
    drive.fill("")
    drive.press_sequentially("0.04")
    visit.page.wait_for_url("**?own_drive_gb_per_s=0.04")
    assert drive.input_value() == "0.04"
    expect(result).not_to_have_text(before)
    expect(beyond).to_have_count(0)
    drive.press("5")
    expect(beyond).not_to_have_count(0)
    drive.fill("")
    drive.press("Enter")
    expect(drive).to_have_value("0.045")
    drive.fill("99999")
    drive.press("Enter")
    expect(drive).to_have_value("1000")
    visit.page.wait_for_url("**?own_drive_gb_per_s=1000")
    expect(beyond).to_have_count(0)


def test_what_another_control_hides_does_not_count(visit: Visit) -> None:
    """The model of a dropdown that is not asked for changes nothing: all is as saved."""
    opened(visit, "en/02-kv-size/?layers=40&public=GPT-2")
    assert visit.page.locator("#saved .beyond").count() == 0


def test_a_pair_that_the_notebook_names_is_saved(visit: Visit) -> None:
    opened(visit, "en/02-kv-size/?source=public&public=GPT-2")
    assert visit.page.locator("#saved .beyond").count() == 0
    assert control(visit, "public").input_value() == "GPT-2"
    assert control(visit, "layers").count() == 0


@pytest.mark.parametrize("wrong", ["layers=0", "layers=40.5", "layers=many", "kv_type=int3", "layers="])
def test_a_value_that_a_control_does_not_have_falls_back_with_a_word(visit: Visit, wrong: str) -> None:
    opened(visit, f"en/02-kv-size/?{wrong}&cpu_ram_gib=512")
    state = visit.page.locator("#state")
    expect(state).to_have_text(state.get_attribute("data-wrong") or "")
    assert control(visit, "layers").input_value() == "32"
    visit.page.wait_for_url("**/02-kv-size/?cpu_ram_gib=512")


def test_back_and_forward_lead_through_the_moves(visit: Visit) -> None:
    opened(visit, "en/02-kv-size/")
    seen = [charts(visit).first.get_attribute(LABEL)]
    for name, value in (("kv_type", "fp8"), ("source", "public")):
        control(visit, name).select_option(index=3 if value == "fp8" else 2)
        visit.page.wait_for_url(f"**{name}={value}**")
        seen.append(charts(visit).first.get_attribute(LABEL))
    assert len(set(seen)) == 3
    for at in (1, 0):
        visit.page.go_back()
        expect(charts(visit).first).to_have_attribute(LABEL, seen[at] or "")
    visit.page.go_forward()
    expect(charts(visit).first).to_have_attribute(LABEL, seen[1] or "")
    assert control(visit, "kv_type").input_value() == "fp8"


def test_a_reload_the_other_language_and_the_next_lesson_keep_the_state(visit: Visit) -> None:
    opened(visit, "en/03-load-or-recompute/")
    control(visit, "kv_bytes").select_option(index=0)
    visit.page.wait_for_url("**?kv_bytes=**")
    label = charts(visit).first.get_attribute(LABEL)
    visit.page.reload()
    expect(charts(visit).first).to_have_attribute(LABEL, label or "")
    visit.page.locator("a.language").click()
    visit.page.wait_for_url("**/zh-TW/03-load-or-recompute/?kv_bytes=**")
    expect(control(visit, "kv_bytes")).to_have_value("36 KiB")
    visit.page.locator("a[rel=next]").click()
    visit.page.wait_for_url("**/zh-TW/04-which-tier/?kv_bytes=**")
    visit.page.locator(".steps a").nth(2).click()
    expect(control(visit, "kv_bytes")).to_have_value("36 KiB")


def test_restore_brings_the_defaults_and_a_link_is_copied(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(visit, "en/02-kv-size/?layers=40")
    visit.page.locator("#copy").click()
    state = visit.page.locator("#state")
    expect(state).to_have_text(state.get_attribute("data-copied") or "")
    assert visit.page.evaluate("() => navigator.clipboard.readText()") == visit.page.url
    visit.page.locator("#reset").click()
    visit.page.wait_for_url("**/02-kv-size/")
    expect(control(visit, "layers")).to_have_value("32")


def test_a_move_makes_anew_what_depends_on_it(visit: Visit) -> None:
    opened(visit, "en/04-which-tier/?chosen=vram")
    control(visit, "kv_type").select_option("fp8")
    visit.page.wait_for_url("**/04-which-tier/?kv_type=fp8")
    assert visit.page.locator("#saved .beyond").count() == 0


def test_tabs_and_folded_answers_open(visit: Visit) -> None:
    opened(visit, "en/01-first-token/")
    panels = visit.page.locator('#saved [data-kind="tab"]')
    visit.page.locator("#saved .tab-names button").nth(2).click()
    expect(panels.nth(2)).to_be_visible()
    expect(panels.nth(0)).to_be_hidden()


@pytest.mark.parametrize("path", ["zh-TW/02-kv-size/", "en/04-which-tier/", "en/05-wire-it/"])
def test_unlocked_it_has_no_serious_issue_and_breaks_no_policy(visit: Visit, path: str) -> None:
    visit.page.add_init_script(RECORD)
    opened(visit, path)
    assert issues(visit.page) == []
    assert refused(visit.page) == []
    assert visit.problems == []


def test_without_scripts_it_is_the_locked_default(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/en/02-kv-size/?layers=40")
    expect(page.locator("#saved svg[role=img]").first).to_be_visible()
    assert page.locator("#saved :is(input, select, textarea, button):enabled").count() == 0
    context.close()


def test_python_takes_the_moves_over_with_the_focus_and_goes_on(visit: Visit) -> None:
    with without_core(visit) as release:
        visit.open("en/02-kv-size/?kv_type=fp8")
        visit.page.locator("#saved:not([inert])").wait_for()
        control(visit, "layers").focus()
        visit.page.keyboard.press("ArrowRight")
        moved = control(visit, "layers").input_value()
        release()
        visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    chart = visit.notebook.locator("svg[role=img]").first
    expect(chart).to_have_attribute(
        LABEL, "KV size of six loads, from 144 MiB for 2k tokens to 68.7 GiB for one million."
    )
    assert visit.page.evaluate(FOCUSED) == ["slider", moved]
    visit.page.keyboard.press("ArrowRight")
    visit.page.wait_for_url(f"**?layers={int(moved) + 1}&kv_type=fp8")
    expect(chart).not_to_have_attribute(
        LABEL, "KV size of six loads, from 144 MiB for 2k tokens to 68.7 GiB for one million."
    )
    visit.page.go_back()
    expect(chart).to_have_attribute(
        LABEL, "KV size of six loads, from 144 MiB for 2k tokens to 68.7 GiB for one million."
    )
    assert visit.problems == []


def test_python_takes_over_what_was_typed(visit: Visit) -> None:
    with without_core(visit) as release:
        visit.open("en/05-wire-it/?wiring=mp_redis")
        visit.page.locator("#saved:not([inert])").wait_for()
        control(visit, "model").fill("my/model")
        expect(visit.page.locator("#saved .beyond").first).to_be_visible()
        release()
        visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    assert "model" not in visit.page.url
    expect(visit.notebook.get_by_text("vllm serve my/model").first).to_be_visible()
    expect(visit.notebook.get_by_text("redis://").first).to_be_visible()
