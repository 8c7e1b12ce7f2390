import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.ledger.costs import TtftCurve, reuse_ttft_s, worthwhile_from_tokens

seconds = st.floats(1e-3, 1)
slopes = st.floats(1e-6, 1e-2)


def test_without_a_tail_reuse_is_the_load() -> None:
    cold, load = TtftCurve(0.046, 0.001, 4e-7), TtftCurve(0.05, 2e-5)
    assert reuse_ttft_s(cold, load, 8000, tail_tokens=0) == pytest.approx(load.ttft_s(8000))


def test_the_tail_is_prefilled_over_the_whole_context() -> None:
    cold, load = TtftCurve(0, 0.001, 4e-7), TtftCurve(0, 0)
    assert reuse_ttft_s(cold, load, 8000, 50) == pytest.approx(0.05 + 4e-7 * (8000**2 - 7950**2))


def test_a_prompt_shorter_than_the_tail_loads_nothing() -> None:
    cold, load = TtftCurve(0.046, 0.001), TtftCurve(0.05, 2e-5)
    assert reuse_ttft_s(cold, load, 30, tail_tokens=50) == pytest.approx(load.fixed_s + 0.03)


@given(
    fixed=seconds,
    linear=slopes,
    square=st.one_of(st.just(0.0), st.floats(1e-12, 1e-6)),
    load_fixed=seconds,
    load_linear=slopes,
)
def test_loading_wins_just_above_the_shortest_worthwhile_length(
    fixed: float, linear: float, square: float, load_fixed: float, load_linear: float
) -> None:
    cold, load = TtftCurve(fixed, linear, square), TtftCurve(load_fixed, load_linear)
    tokens = worthwhile_from_tokens(cold, load)
    if tokens is None:
        assert square == 0
        assert load_linear >= linear
    elif tokens > 0:
        assert load.ttft_s(tokens) == pytest.approx(cold.ttft_s(tokens), rel=1e-6)
        assert load.ttft_s(tokens / 2) > cold.ttft_s(tokens / 2)
