"""What a reader brings: settings, logs and results are judged in the page, and nothing of them leaves it."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Request, expect

from kvtiers.lint import Source, lint
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_text
from kvtiers.result.schema import read_result
from kvtiers.units import format_times
from tests.browser.conftest import LANGUAGES, PROJECT, Live, Visit
from tests.browser.looks import SAID, english

SETTINGS, RESULTS = "zh-TW/05-wire-it/", "zh-TW/06-prove-it/"

NO_LIMIT = """export LMCACHE_LOCAL_DISK=file:///mnt/nvme/kv PYTHONHASHSEED=0 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256
vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both",
 "kv_load_failure_policy":"recompute"}'
"""
LIMIT_0_LOG = (PROJECT / "tests" / "core" / "data" / "logs" / "limit0.log").read_text(encoding="utf-8")


def paste(visit: Visit, text: str) -> list[str]:
    """Paste into the page's box; returns the list that the page's requests from now on go into."""
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    visit.page.on("request", note)
    box = visit.notebook.locator("textarea").first
    box.fill(text)
    box.blur()
    return requests


def test_pasted_settings_get_their_finding_and_stay_in_the_page(live: Live) -> None:
    finding, *_ = lint([Source("paste", NO_LIMIT)])
    visit = live(SETTINGS)
    requests = paste(visit, NO_LIMIT)
    expect(visit.notebook.get_by_text(finding.what("zh-TW")).first).to_be_visible()
    expect(visit.notebook.get_by_text(finding.fix("zh-TW")).first).to_be_visible()
    assert requests == []
    assert visit.problems == []


def test_a_finding_leads_to_the_lesson_by_its_title_also_after_new_settings(live: Live) -> None:
    visit = live(SETTINGS)
    links = visit.notebook.locator("marimo-callout-output a[target=_top]")
    paste(visit, NO_LIMIT)
    expect(links.first).to_have_text(re.compile(r"^\d · "))
    box, other = visit.notebook.locator("textarea").last, "export LMCACHE_LOCAL_CPU=no"
    box.fill(other)
    box.blur()
    expect(links).to_have_count(len(lint([Source("paste", other)])))
    box.fill("a: [\n  b: {")
    box.blur()
    expect(links).to_have_count(0)
    assert english(visit.notebook.locator("body").evaluate(SAID)) == []
    assert visit.page.locator("#saved a[href='../05-wire-it/']").count() > 0


def test_a_pasted_log_gets_its_verdict_and_stays_in_the_page(live: Live) -> None:
    conclusion = conclude(read_log_text(LIMIT_0_LOG)).conclusion
    visit = live(RESULTS)
    requests = paste(visit, LIMIT_0_LOG)
    expect(visit.notebook.get_by_text(conclusion.what("zh-TW")).first).to_be_visible()
    expect(visit.notebook.get_by_text(conclusion.next_step("zh-TW")).first).to_be_visible()
    assert requests == []
    assert visit.problems == []


def test_a_bad_result_file_gets_a_message(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text('{"not": "a result"}')
    notebook = live(RESULTS).notebook
    notebook.locator("input[type=file]").first.set_input_files(file)
    expect(notebook.locator("marimo-callout-output", has_text="這個檔案無法顯示")).to_be_visible()
    assert "Traceback" not in notebook.locator("body").inner_text()


def test_a_result_of_ones_own_can_be_dropped_and_is_told_in_the_pages_language(live: Live, tmp_path: Path) -> None:
    result = json.loads((PROJECT / "lab" / "results" / "reference" / "cpu-tiny-long.json").read_text())
    result["model"]["name"] = "my-own-model"
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result))
    notebook = live(RESULTS).notebook
    expect(notebook.get_by_text("my-own-model")).to_have_count(0)
    notebook.locator("input[type=file]").first.set_input_files(file)
    expect(notebook.get_by_text("my-own-model").first).to_be_visible()
    speedup = read_result(file.read_text()).summary.cold_over_ssd_reuse
    assert speedup is not None
    expect(notebook.get_by_text(format_times(speedup)).first).to_be_visible()
    expect(notebook.locator("marimo-file").get_by_text("已上傳")).to_be_visible()
    assert english(notebook.locator("body").evaluate(SAID)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_version_pairs_are_a_page_of_their_own(visit: Visit, language: str) -> None:
    visit.without_notebooks()
    visit.open(f"{language}/05-wire-it/")
    visit.page.locator("a[href='../version-pairs/']").click()
    expect(visit.page.locator("h1")).to_be_visible()
    expect(visit.page.locator("tbody tr").first).to_contain_text("0.32.0")
    inside = visit.page.locator(".mode.in_process table")
    expect(inside).to_be_visible()
    expect(inside.locator("td small").first).to_contain_text("CUDA")  # it works here, and is reported to fail there
    expect(visit.page.locator(".mode.mp small")).to_have_count(0)
    visit.page.locator(".modes [value=mp]").check()
    expect(inside).to_be_hidden()
    cell = visit.page.locator(".mode.mp details").first
    cell.locator("summary").click()
    expect(cell).to_contain_text("python -m lab pairs")
    visit.page.locator("a[href$='/05-wire-it/']").click()
    expect(visit.page).to_have_url(f"{visit.address}/{language}/05-wire-it/")
