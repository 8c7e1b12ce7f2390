from kvtiers.ledger import prefix
from tests.notebooks.conftest import Runner


def test_prefix_is_computed_once_with_a_cache_and_three_times_without(run: Runner) -> None:
    prefix_tokens, question_tokens = 4000, 200
    with_cache, without = run("01_first_token"), run("01_first_token", case="off")
    assert with_cache["computed_tokens"] == prefix_tokens + 3 * question_tokens
    assert without["computed_tokens"] == 3 * (prefix_tokens + question_tokens)
    changed = run("01_first_token", case="front")
    assert changed["computed_tokens"] == without["computed_tokens"]


def test_ttft_grows_with_the_prefix(run: Runner) -> None:
    assert run("01_first_token", prefix_tokens=16000)["ttft_s"][0] > run("01_first_token")["ttft_s"][0]


def test_formula(run: Runner) -> None:
    formula = run("01_first_token")["reused_tokens"]
    for same, prompt, block in ((4000, 4200, 16), (4000, 4000, 16), (300, 310, 256), (0, 5, 16), (2000, 4200, 128)):
        assert formula(same, prompt, block) == prefix.reused_tokens(same, prompt, block)
