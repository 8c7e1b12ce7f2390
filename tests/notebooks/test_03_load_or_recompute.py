import re

import pytest
from course.lessons.claims import load_claims

from kvtiers.ledger import costs
from tests.lessons.prose import LESSONS
from tests.notebooks.conftest import Runner


def test_break_even_and_ceiling(run: Runner) -> None:
    notebook = run("03_load_or_recompute")
    assert notebook["break_even_rate"] == pytest.approx(45_776, abs=1)
    assert "45.8k" in notebook.shown
    assert notebook["ceiling"] == pytest.approx(11.44, abs=0.01)
    assert notebook["saved_s"] == pytest.approx(2.5 - 0.218, abs=0.001)


def test_formulas(run: Runner) -> None:
    notebook = run("03_load_or_recompute")
    for rate, kv_bytes, gb_per_s in ((4000, 131072, 6), (990, 16384, 1.03), (80_000, 327_680, 14)):
        assert notebook["ceiling_speedup"](rate, kv_bytes, gb_per_s) == pytest.approx(
            costs.ceiling_speedup(rate, kv_bytes, gb_per_s)
        )
        assert notebook["break_even"](kv_bytes, gb_per_s) == pytest.approx(
            costs.break_even_tokens_per_s(kv_bytes, gb_per_s)
        )


def test_what_is_measured_is_what_the_lesson_says(run: Runner, language: str) -> None:
    """Both take it from the committed runs."""
    claims = load_claims(LESSONS / "claims.yaml", LESSONS.parent / "lab" / "results" / "reference")
    shown = run("03_load_or_recompute", language).prose
    for speedup, tokens in (("lab-speedup", "lab-tokens"), ("lab-long-speedup", "lab-long-tokens")):
        assert claims[speedup].value in shown
        assert claims[tokens].value in shown


def test_nothing_shorter_than_a_chunk_is_loaded(run: Runner) -> None:
    at_once = {"cold_fixed": 50, "cold_linear": 1000, "cold_square": 0, "load_fixed": 54, "load_linear": 20, "tail": 0}
    assert run("03_load_or_recompute", curve=at_once)["from_tokens"] == 256


def test_a_drive_that_loses_is_said_to_lose(run: Runner) -> None:
    notebook = run("03_load_or_recompute", prefill_tokens_per_s=128_000, ssd_gb_per_s=0.5)
    assert notebook["saved_s"] < 0
    assert "you lose" in notebook.prose
    assert not re.search(r"-\d+(\.\d+)? m?s", notebook.prose)
