"""The Content-Security-Policy in a real browser: what the course needs runs, what it does not is refused."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Worker

from tests.browser.conftest import ALL_PAGES, LANGUAGES, LIVE_MS, Visit, serving

RECORD = """
  window.refused = [];
  addEventListener("securitypolicyviolation", e => refused.push(`${e.effectiveDirective} ${e.blockedURI} ${e.sample}`));
"""
# Text handed to setTimeout would be eval itself, so the worker is asked from a timer's function.
FROM_A_TIMER = """(what) => new Promise(done => setTimeout(async () => {
  try { what === "eval" ? (0, eval)("1") : await fetch(what); done("done"); } catch (error) { done(error.name); }
}))"""


# A library in marimo's frontend asks once whether eval is allowed, and does without it.
PROBE = "script-src eval "


def refused(page: Page) -> list[str]:
    entries = [entry for frame in page.frames for entry in frame.evaluate("() => window.refused ?? []")]
    return [entry for entry in entries if entry != PROBE]


@pytest.fixture
def recording(visit: Visit) -> Visit:
    visit.page.add_init_script(RECORD)
    return visit


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_asks_for_what_the_policy_refuses(recording: Visit, language: str) -> None:
    recording.without_notebooks()
    for page in ALL_PAGES:
        recording.open(f"{language}/{page}")
        recording.page.locator("#find").click()
        recording.page.locator("#words").fill("KV")
        recording.page.locator("#found a").first.wait_for()
        assert refused(recording.page) == []


@pytest.mark.parametrize("lesson", ["02-kv-size", "06-prove-it"])
def test_a_live_notebook_asks_for_nothing_the_policy_refuses(recording: Visit, lesson: str) -> None:
    notebook = recording.open_live(f"en/{lesson}/")
    notebook.locator("[role=slider], select, button").first.focus()
    assert refused(recording.page) == []
    assert recording.problems == []


def test_the_editor_asks_for_nothing_the_policy_refuses(recording: Visit) -> None:
    recording.open("notebooks/en/02_kv_size/edit.html")
    recording.page.locator(".cm-content").first.wait_for(timeout=LIVE_MS)
    assert refused(recording.page) == []
    assert recording.problems == []


@pytest.mark.parametrize("path", ["en/", "en/02-kv-size/", "en/quiz/", "notebooks/en/02_kv_size/", "no/such/page"])
def test_an_injected_script_does_not_run_and_nothing_outside_is_reached(
    recording: Visit, path: str, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("outside")
    with serving(tmp_path) as outside:
        recording.open(path)
        answer = recording.page.evaluate(
            """async (outside) => {
              const script = document.createElement("script");
              script.textContent = "window.injected = true";
              document.body.append(script);
              document.body.insertAdjacentHTML("beforeend", `<img src="x:" onerror="window.injected = true">`);
              document.body.insertAdjacentHTML("beforeend", `<img src="${outside}/a.png">`);
              const fetched = await fetch(outside).then(() => "reached", error => error.name);
              return [window.injected ?? false, fetched];
            }""",
            outside,
        )
    assert answer == [False, "TypeError"]
    directives = {entry.split()[0] for entry in refused(recording.page)}
    assert directives >= {"script-src-elem", "script-src-attr", "connect-src", "img-src"}
    assert not any(problem.startswith("outside request") for problem in recording.problems)


def test_the_notebooks_worker_reaches_nothing_outside_and_runs_no_text(recording: Visit, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("outside")
    recording.open_live("en/02-kv-size/")
    worker: Worker = recording.page.workers[0]
    with serving(tmp_path) as outside:
        assert worker.evaluate(FROM_A_TIMER, outside) == "TypeError"
    assert worker.evaluate(FROM_A_TIMER, "eval") == "EvalError"
    assert not any(problem.startswith("outside request") for problem in recording.problems)
