"""The Content-Security-Policy in a real browser: it refuses what the course does not need.

That it refuses nothing that a page needs is seen where the pages are: `test_pages.py`, `test_live.py`, `test_edit.py`.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Worker

from tests.browser.conftest import Visit, serving
from tests.browser.looks import RECORD, refused

# Text handed to setTimeout would be eval itself, so the worker is asked from a timer's function.
FROM_A_TIMER = """(what) => new Promise(done => setTimeout(async () => {
  try { what === "eval" ? (0, eval)("1") : await fetch(what); done("done"); } catch (error) { done(error.name); }
}))"""


@pytest.mark.parametrize("path", ["en/", "en/02-kv-size/", "en/quiz/", "notebooks/en/02_kv_size/", "no/such/page"])
def test_an_injected_script_does_not_run_and_nothing_outside_is_reached(
    visit: Visit, path: str, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text("outside")
    visit.page.add_init_script(RECORD)
    with serving(tmp_path) as outside:
        visit.open(path)
        answer = visit.page.evaluate(
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
    directives = {entry.split()[0] for entry in refused(visit.page)}
    assert directives >= {"script-src-elem", "script-src-attr", "connect-src", "img-src"}
    assert not any(problem.startswith("outside request") for problem in visit.problems)


def test_the_notebooks_worker_reaches_nothing_outside_and_runs_no_text(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("outside")
    visit.open_live("en/02-kv-size/")
    worker: Worker = visit.page.workers[0]
    with serving(tmp_path) as outside:
        assert worker.evaluate(FROM_A_TIMER, outside) == "TypeError"
    assert worker.evaluate(FROM_A_TIMER, "eval") == "EvalError"
    assert not any(problem.startswith("outside request") for problem in visit.problems)
