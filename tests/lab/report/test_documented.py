"""Figures in README, docs and notebooks are those of the reference runs."""

import pytest

from kvtiers.result.reference import reference_run
from kvtiers.result.schema import read_result
from kvtiers.result.steps import Step
from lab.paths import REPOSITORY, RESULTS
from lab.report.documents import DOCUMENTS, NOTEBOOK_TABLE, PAIRS_TABLE, documented, notebook_table, pairs_table


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_figure_of_a_run_is_the_result_files(name: str) -> None:
    written = (REPOSITORY / name).read_text(encoding="utf-8")
    assert "<!-- figures: " in written
    assert written == documented(name), "run python -m lab.report.documents"


def test_what_notebooks_read_is_the_result_files() -> None:
    assert NOTEBOOK_TABLE.read_text(encoding="utf-8") == notebook_table(), "run python -m lab.report.documents"


def test_the_table_of_pairs_is_the_result_files() -> None:
    assert PAIRS_TABLE.read_text(encoding="utf-8") == pairs_table(), "run python -m lab.report.documents"


def test_a_notebook_finds_every_step_of_the_run() -> None:
    for name in ("cpu-tiny", "cpu-tiny-long"):
        result = read_result((RESULTS / "reference" / f"{name}.json").read_text(encoding="utf-8"))
        run = reference_run(name)
        assert run.ttft == {(row.arm, row.step): row.ttft for row in result.summary.steps}
        assert run.speedup(Step.SSD_REUSE) == result.summary.cold_over_ssd_reuse


@pytest.mark.parametrize(("name", "overlap"), [("cpu-tiny-page-cache", True), ("cpu-tiny-page-cache-long", False)])
def test_page_cache_and_drive_overlap_as_the_texts_say(name: str, overlap: bool) -> None:
    result = read_result((RESULTS / "reference" / f"{name}.json").read_text(encoding="utf-8"))
    ttft = {row.step: row.ttft for row in result.summary.steps}
    assert (ttft[Step.PAGE_CACHE_REUSE].max_s >= ttft[Step.SSD_REUSE].min_s) is overlap
