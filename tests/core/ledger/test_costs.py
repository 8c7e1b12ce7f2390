import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.ledger.costs import (
    TtftCurve,
    break_even_tokens_per_s,
    ceiling_speedup,
    load_s,
    recompute_s,
)
from kvtiers.units import KIB

KV = 128 * KIB
amounts = st.floats(min_value=1e-3, max_value=1e9)


def test_break_even_in_honest_units() -> None:
    assert break_even_tokens_per_s(KV, 6.0) == pytest.approx(45_776, abs=1)


def test_loading_ten_thousand_tokens_from_an_nvme_drive() -> None:
    assert load_s(10_000, KV, 6.0) == pytest.approx(0.2185, abs=1e-4)


@given(tokens=st.floats(min_value=1, max_value=1e7), rate=amounts, kv=amounts, bandwidth=amounts)
def test_the_ceiling_is_recompute_over_load_at_any_length(
    tokens: float, rate: float, kv: float, bandwidth: float
) -> None:
    ratio = recompute_s(tokens, rate) / load_s(tokens, kv, bandwidth)
    assert ceiling_speedup(rate, kv, bandwidth) == pytest.approx(ratio, rel=1e-9)


@given(kv=amounts, bandwidth=amounts)
def test_at_break_even_the_ceiling_is_one(kv: float, bandwidth: float) -> None:
    assert ceiling_speedup(break_even_tokens_per_s(kv, bandwidth), kv, bandwidth) == pytest.approx(1.0)


@given(rate=amounts, kv=amounts, bandwidth=amounts)
def test_smaller_kv_never_lowers_the_ceiling(rate: float, kv: float, bandwidth: float) -> None:
    assert ceiling_speedup(rate, kv / 2, bandwidth) >= ceiling_speedup(rate, kv, bandwidth)


def test_the_curve_predicts_the_prototype_within_five_percent() -> None:
    # Measured on a 2-core AVX2 machine, November 2026: cold TTFT 33.41 s at 7,986 tokens.
    assert TtftCurve(0.046, 0.00101, 0.000000386).ttft_s(7986) == pytest.approx(33.41, rel=0.05)


@pytest.mark.parametrize("bandwidth", [0, -1, float("nan"), float("inf")])
def test_absurd_bandwidth_is_refused(bandwidth: float) -> None:
    with pytest.raises(KvtiersError, match="bandwidth_gb_per_s must be a number above 0"):
        load_s(1000, KV, bandwidth)
