"""``lab check --needle``: what a gate before a deployment relies on."""

import json

import pytest

from lab.cli import app
from lab.judge.asker import Check
from lab.judge.needle import NeedleResult, run_needle
from lab.judge.points import State
from tests.lab.judge.server import KEY, Engine, serving


def asked(engine: Engine, *, minutes: float = 5.0, ceiling_tokens: int = 60_000) -> NeedleResult:
    with serving(engine) as url:
        wanted = Check(url, api_key=KEY, document_tokens=500, ceiling_tokens=ceiling_tokens)
        return run_needle(wanted, prompts=4, minutes=minutes)


def test_right_answers_out_of_a_tier_pass() -> None:
    verdict = asked(Engine())
    assert (verdict.state, verdict.prompts, verdict.came_back, verdict.wrong) == (State.OK, 4, 4, ())
    assert verdict.tokens > 4 * 400


def test_every_wrong_answer_is_counted_and_named() -> None:
    verdict = asked(Engine(answers="other from the tier"))
    assert (verdict.state, len(verdict.wrong)) == (State.FAILED, 4)
    assert "wrong KV" in verdict.what


@pytest.mark.parametrize(
    ("answers", "gap_nats", "state"),
    [
        ("other when cached", 0.3, State.OK),
        ("other when cached", 0.7, State.FAILED),
        ("other from the tier", 0.3, State.FAILED),
        ("other from the tier", None, State.UNCLEAR),
    ],
)
def test_what_the_engines_own_cache_rounds_is_no_alarm_and_the_untold_no_pass(
    answers: str, gap_nats: float | None, state: State
) -> None:
    assert asked(Engine(answers=answers, gap_nats=gap_nats)).state is state


@pytest.mark.parametrize("engine", [Engine(tier=False), Engine(connector=False)], ids=["keeps nothing", "no connector"])
def test_where_nothing_came_back_nothing_is_proven(engine: Engine) -> None:
    verdict = asked(engine)
    assert (verdict.state, verdict.came_back) == (State.UNCLEAR, 0)


def test_where_nothing_can_be_pushed_out_it_says_why() -> None:
    verdict = asked(Engine(pool_blocks=100_000))
    assert verdict.state is State.SKIPPED
    assert "--ceiling-tokens" in verdict.what


def test_out_of_time_it_judges_what_it_has() -> None:
    assert asked(Engine(), minutes=0).prompts == 1


@pytest.mark.parametrize(
    ("engine", "status"),
    [(Engine(), 0), (Engine(answers="other from the tier"), 1), (Engine(tier=False), 3)],
    ids=["right", "wrong", "unproven"],
)
def test_a_gate_reads_exit_code_and_json(
    engine: Engine, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    options = ["--needle", "--prompts", "2", "--document-tokens", "500", "--api-key-env", "MY_KEY", "--json"]
    with serving(engine) as url, pytest.raises(SystemExit) as ended:
        app(["check", url, *options])
    assert ended.value.code == status
    said = json.loads(capsys.readouterr().out)
    assert said["prompts"] == 2
    assert len(said["wrong"]) == (2 if status == 1 else 0)


def test_emptying_ram_wants_the_server_that_has_it() -> None:
    with pytest.raises(SystemExit) as ended:
        app(["check", "http://127.0.0.1:9", "--needle", "--empty-ram"])
    assert ended.value.code == 2
