import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.ledger.costs import CHUNK_TOKENS, TtftCurve, reuse_ttft_s, worthwhile_from_tokens

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
def test_loading_wins_in_the_first_whole_chunk_in_which_it_is_faster(
    fixed: float, linear: float, square: float, load_fixed: float, load_linear: float
) -> None:
    cold, load = TtftCurve(fixed, linear, square), TtftCurve(load_fixed, load_linear)
    tokens = worthwhile_from_tokens(cold, load)
    if tokens is None:
        assert square == 0
        assert load_linear >= linear
        return
    assert tokens % CHUNK_TOKENS == 0
    assert load.ttft_s(tokens) <= cold.ttft_s(tokens) * (1 + 1e-9)
    if tokens > CHUNK_TOKENS:
        before = tokens - CHUNK_TOKENS
        assert load.ttft_s(before) > cold.ttft_s(before) * (1 - 1e-9)


def test_less_than_a_chunk_is_never_worth_loading() -> None:
    """The curves meet at 4 tokens."""
    cold, load = TtftCurve(0.046, 0.001), TtftCurve(0.05, 2e-5)
    assert worthwhile_from_tokens(cold, load) == 256
    assert worthwhile_from_tokens(cold, load, chunk_tokens=16) == 16


def test_a_load_that_starts_sooner_and_grows_faster_loses_before_the_first_chunk() -> None:
    assert worthwhile_from_tokens(TtftCurve(0.05, 0.001), TtftCurve(0.01, 0.002)) is None
