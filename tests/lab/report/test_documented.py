"""Figures in README and docs are those of the reference runs."""

import pytest

from lab.paths import REPOSITORY
from lab.report.documents import DOCUMENTS, documented


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_figure_of_a_run_is_the_result_files(name: str) -> None:
    written = (REPOSITORY / name).read_text(encoding="utf-8")
    assert "<!-- figures: " in written
    assert written == documented(name), "run python -m lab.report.documents"
