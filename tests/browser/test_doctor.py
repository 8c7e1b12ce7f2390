"""The paste boxes: settings and logs are judged in the page, and nothing pasted leaves it."""

import pytest
from playwright.sync_api import FrameLocator, Request, expect

from kvtiers.lint import Source, lint
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_text
from tests.browser.conftest import LANGUAGES, PROJECT, Visit

NO_LIMIT = """export LMCACHE_LOCAL_DISK=file:///mnt/nvme/kv PYTHONHASHSEED=0 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256
vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both",
 "kv_load_failure_policy":"recompute"}'
"""
LIMIT_0_LOG = (PROJECT / "tests" / "core" / "data" / "logs" / "limit0.log").read_text(encoding="utf-8")


def paste(visit: Visit, notebook: FrameLocator, text: str) -> list[str]:
    """Paste into the page's box; returns the list that the page's requests from now on go into."""
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    visit.page.on("request", note)
    box = notebook.locator("textarea").first
    box.fill(text)
    box.blur()
    return requests


@pytest.mark.parametrize("language", LANGUAGES)
def test_pasted_settings_get_their_finding_and_stay_in_the_page(visit: Visit, language: str) -> None:
    finding, *_ = lint([Source("paste", NO_LIMIT)])
    notebook = visit.open_live(f"{language}/05-wire-it/")
    requests = paste(visit, notebook, NO_LIMIT)
    expect(notebook.get_by_text(finding.what(language)).first).to_be_visible()
    expect(notebook.get_by_text(finding.fix(language)).first).to_be_visible()
    assert requests == []
    assert visit.problems == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pasted_log_gets_its_verdict_and_stays_in_the_page(visit: Visit, language: str) -> None:
    conclusion = conclude(read_log_text(LIMIT_0_LOG)).conclusion
    notebook = visit.open_live(f"{language}/06-prove-it/")
    requests = paste(visit, notebook, LIMIT_0_LOG)
    expect(notebook.get_by_text(conclusion.what(language)).first).to_be_visible()
    expect(notebook.get_by_text(conclusion.next_step(language)).first).to_be_visible()
    assert requests == []
    assert visit.problems == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_version_pairs_are_a_page_of_their_own(visit: Visit, language: str) -> None:
    visit.open(f"{language}/05-wire-it/")
    visit.page.locator("a[href='../version-pairs/']").click()
    expect(visit.page.locator("h1")).to_be_visible()
    expect(visit.page.locator("tbody tr").first).to_contain_text("0.32.0")
    visit.page.locator("a[href$='/05-wire-it/']").click()
    expect(visit.page).to_have_url(f"{visit.address}/{language}/05-wire-it/")
