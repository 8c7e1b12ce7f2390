"""Every cell is one click from reading: editable where the notebook stands, beside its output."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import LANGUAGES, LIVE_MS, Visit
from tests.browser.looks import RECORD, refused

LABELS = "charts => charts.map(chart => chart.getAttribute('aria-label'))"


def switch(visit: Visit) -> Locator:
    """From reading to editing or back; returns the charts there."""
    visit.page.locator("#edit").click()
    visit.page.locator('[data-state="starting"]').wait_for()
    visit.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
    return visit.notebook.locator("svg[role=img]")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cell_is_edited_in_place_beside_its_output_and_reading_is_one_click_back(visit: Visit, language: str) -> None:
    visit.page.add_init_script(RECORD)
    read = visit.open_live(f"{language}/02-kv-size/").locator("svg[role=img]").evaluate_all(LABELS)
    charts = switch(visit)
    assert charts.evaluate_all(LABELS) == read
    cell = visit.notebook.locator(".cm-content", has_text="free_vram_gib = say.slider")
    code = cell.inner_text()
    cell.fill(code.replace("80, value=10", "80, value=77"))
    cell.press("Control+Enter")
    expect(visit.notebook.get_by_text("77 GiB").first).to_be_visible()
    assert switch(visit).evaluate_all(LABELS) == read
    assert refused(visit.page) == []
    assert visit.problems == []
