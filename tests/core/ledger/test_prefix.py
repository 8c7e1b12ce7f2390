import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.ledger.prefix import reused_tokens, shared_prefix_prefills

counts = st.integers(1, 5000)


@given(same=st.integers(0, 5000), prompt=counts, block=counts)
def test_reuse_is_full_blocks_and_leaves_a_token_to_run(same: int, prompt: int, block: int) -> None:
    reused = reused_tokens(same, prompt, block)
    assert reused % block == 0
    assert 0 <= reused <= min(same, prompt - 1)
    assert min(same, prompt - 1) - reused < block


def test_an_identical_prompt_of_whole_blocks_runs_its_last_block_again() -> None:
    assert reused_tokens(256, 256, 128) == 128


def test_three_requests_compute_a_shared_prefix_once() -> None:
    prefills = shared_prefix_prefills(3, 4000, 200, block_tokens=16)
    assert [prefill.computed_tokens for prefill in prefills] == [4200, 200, 200]


def test_a_token_changed_at_the_front_reuses_nothing() -> None:
    prefills = shared_prefix_prefills(3, 4000, 200, block_tokens=16, same_leading_tokens=0)
    assert [prefill.reused_tokens for prefill in prefills] == [0, 0, 0]


@pytest.mark.parametrize(("prompt", "block", "field"), [(0, 16, "prompt_tokens"), (10, 0, "block_tokens")])
def test_empty_prompts_and_blocks_are_refused(prompt: int, block: int, field: str) -> None:
    with pytest.raises(KvtiersError, match=field):
        reused_tokens(10, prompt, block)
