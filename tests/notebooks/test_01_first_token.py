from kvtiers.ledger import prefix
from tests.notebooks.conftest import Runner


def test_prefix_is_computed_once_with_a_cache_and_three_times_without(run: Runner) -> None:
    prefix_tokens, question_tokens = 4000, 200
    with_cache, without = run("01_first_token"), run("01_first_token", case="off")
    assert with_cache["computed_tokens"] == prefix_tokens + 3 * question_tokens
    assert without["computed_tokens"] == 3 * (prefix_tokens + question_tokens)
    changed = run("01_first_token", case="front")
    assert changed["computed_tokens"] == without["computed_tokens"]


def test_each_turn_of_an_agent_computes_its_question_alone(run: Runner) -> None:
    agent = run("01_first_token", traffic="agent")["requests"]
    assert [request.computed_tokens for request in agent[1:]] == [200 + 4200 % 16, 200 + 4400 % 16]
    assert agent[2].reused_tokens > agent[1].reused_tokens


def test_one_off_prompts_gain_nothing_from_a_cache(run: Runner) -> None:
    one_off = run("01_first_token", traffic="one_off")
    assert one_off["computed_tokens"] == run("01_first_token", case="off")["computed_tokens"]
    assert "no tier can help" in one_off.shown


def test_the_four_places_are_clicked(run: Runner, language: str) -> None:
    notebook = run("01_first_token", language)
    assert len(notebook["four_places"]) == 4
    assert "<marimo-tabs" in notebook.shown


def test_ttft_grows_with_the_prefix(run: Runner) -> None:
    assert run("01_first_token", prefix_tokens=16000)["ttft_s"][0] > run("01_first_token")["ttft_s"][0]


def test_formula(run: Runner) -> None:
    formula = run("01_first_token")["reused_tokens"]
    for same, prompt, block in ((4000, 4200, 16), (4000, 4000, 16), (300, 310, 256), (0, 5, 16), (2000, 4200, 128)):
        assert formula(same, prompt, block) == prefix.prefill(prompt, same, block).reused_tokens
