import pytest

from kvtiers.ledger import costs
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


def test_measured_curve_gives_the_measured_speedups(run: Runner) -> None:
    """Cold 391 and 33,410 ms, disk reuse 121 and 574 ms at 306 and 7,986 tokens on the lab's CPU engine."""
    notebook = run("03_load_or_recompute")
    for tokens, cold_s, reuse_s in ((306, 0.391, 0.121), (7986, 33.410, 0.574)):
        assert notebook["cold"].ttft_s(tokens) == pytest.approx(cold_s, rel=0.05)
        assert notebook["reuse_s"](tokens) == pytest.approx(reuse_s, rel=0.05)
