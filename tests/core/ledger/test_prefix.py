import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.ledger.prefix import Prefill, prefill

counts = st.integers(1, 5000)


@given(same=st.integers(0, 5000), prompt=counts, block=counts)
def test_reuse_is_full_blocks_and_leaves_a_token_to_run(same: int, prompt: int, block: int) -> None:
    reused = prefill(prompt, same, block).reused_tokens
    assert reused % block == 0
    assert 0 <= reused <= min(same, prompt - 1)
    assert min(same, prompt - 1) - reused < block


def test_an_identical_prompt_of_whole_blocks_runs_its_last_block_again() -> None:
    assert prefill(256, 256, 128) == Prefill(128, 128)


def test_what_is_not_reused_is_computed() -> None:
    assert prefill(4200, 4000, 16) == Prefill(4000, 200)
    assert prefill(4200, 0, 16) == Prefill(0, 4200)


def test_without_a_cache_everything_is_computed() -> None:
    assert prefill(4200, 4000, block_tokens=0) == Prefill(0, 4200)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(KvtiersError, match="prompt_tokens"):
        prefill(0, 10, 16)
