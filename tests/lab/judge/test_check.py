"""``lab check`` against small servers that show what a real one cannot be made to show on demand."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from lab.cli import app
from lab.errors import LabError
from lab.judge.asker import Check
from lab.judge.check import run_check
from lab.judge.points import Point, State
from lab.measure.client import Client
from lab.measure.server import RequestError
from tests.lab.judge.server import KEY, Engine, serving


def checked(engine: Engine, *, log: Path | None = None, ceiling_tokens: int = 60_000) -> dict[str, Point]:
    with serving(engine) as url:
        wanted = Check(url, log, KEY, document_tokens=500, ceiling_tokens=ceiling_tokens)
        return {point.name: point for point in run_check(wanted)}


@pytest.mark.parametrize("chat_only", [False, True])
def test_a_working_server_passes_every_checkpoint(chat_only: bool) -> None:
    points = checked(Engine(chat_only=chat_only))
    assert {name: point.state for name, point in points.items()} == dict.fromkeys(
        ("connector", "own cache", "tier", "changed token", "answers"), State.OK
    )


@pytest.mark.parametrize(
    ("engine", "failed"),
    [
        (Engine(connector=False), {"connector", "tier"}),
        (Engine(tier=False), {"tier"}),
        (Engine(stale=True), {"changed token"}),
        (Engine(answers="other when cached"), {"answers"}),
    ],
    ids=["no connector", "nothing kept", "stale", "other answers"],
)
def test_each_fault_fails_its_own_checkpoint(engine: Engine, failed: set[str]) -> None:
    points = checked(engine)
    assert {name for name, point in points.items() if point.state is State.FAILED} == failed


@pytest.mark.parametrize(
    ("gap_nats", "state", "said"),
    [(0.3, State.OK, "rounding"), (0.7, State.FAILED, "wrong KV"), (None, State.UNCLEAR, "no logprobs to tell")],
)
@pytest.mark.parametrize("chat_only", [False, True])
def test_other_answers_are_judged_by_how_likely_both_tokens_are(
    gap_nats: float | None, state: State, said: str, chat_only: bool
) -> None:
    point = checked(Engine(answers="other when cached", gap_nats=gap_nats, chat_only=chat_only))["answers"]
    assert (point.state, said in point.what) == (state, True)


def test_an_answer_that_only_the_tier_changes_is_wrong_however_near_the_tie() -> None:
    point = checked(Engine(answers="other from the tier", gap_nats=0.01))["answers"]
    assert point.state is State.FAILED


def test_a_tier_no_faster_than_computing_is_called_noise() -> None:
    points = checked(Engine(wait_s=0.2))
    assert points["tier"].state in (State.UNCLEAR, State.OK)
    assert "after eviction" in points["tier"].what


def test_without_counters_times_and_usage_must_do() -> None:
    points = checked(Engine(metrics=False))
    assert points["connector"].state is State.UNCLEAR
    assert points["tier"].state is State.SKIPPED
    assert points["changed token"].state is State.OK


def test_without_counters_usage_shows_a_cache_that_does_not_hit() -> None:
    engine = Engine(metrics=False, connector=False, forgets=True)
    assert checked(engine)["own cache"].state is State.FAILED


def test_other_peoples_requests_in_the_counters_are_told() -> None:
    assert checked(Engine(others=7))["traffic"].state is State.UNCLEAR


def test_a_pool_too_large_for_the_ceiling_is_left_alone() -> None:
    points = checked(Engine(pool_blocks=100_000))
    assert points["tier"].state is State.SKIPPED
    assert "--ceiling-tokens" in points["tier"].what


def test_the_ceiling_holds() -> None:
    engine = Engine()
    with pytest.raises(LabError, match="ceiling"):
        checked(engine, ceiling_tokens=2000)
    assert engine.counts["own_queries"] <= 2000 + 500


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refusal_midway_ends_the_check_at_once(status: int) -> None:
    engine = Engine(refuse_after=4, status=status)
    with pytest.raises(RequestError, match=str(status)):
        checked(engine)
    assert engine.counts["requests"] == 4


def test_an_error_inside_the_stream_is_the_message() -> None:
    with pytest.raises(RequestError, match="EngineCore died"):
        checked(Engine(break_stream=True))


def test_a_wrong_key_is_one_message_and_is_not_repeated() -> None:
    with serving(Engine()) as url, pytest.raises(RequestError, match="401") as caught:
        run_check(Check(url, api_key="wrong-key"))
    assert "wrong-key" not in str(caught.value)


def test_a_server_that_does_not_speak_tls_is_one_message() -> None:
    with serving(Engine()) as url, pytest.raises(RequestError, match="no answer from"):
        run_check(Check(url.replace("http:", "https:"), api_key=KEY))


def test_a_log_gives_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("RuntimeError: No supported cpu connector found.\n")
    assert "[degraded]" in checked(Engine(), log=log)["log"].what


def test_the_first_token_of_a_chat_may_be_a_thought() -> None:
    with serving(Engine(chat_only=True)) as url, closing(Client(url, "m", KEY)) as client:
        answer = client.ask("a b c", 2, "r", chat=True)
    assert (answer.text, answer.prompt_tokens, answer.cached_tokens) == ("xx", 3, 0)


@pytest.mark.parametrize(("engine", "status"), [(Engine(), 0), (Engine(tier=False), 1)], ids=["works", "keeps nothing"])
def test_the_command_exits_with_the_result(
    engine: Engine, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serving(engine) as url, pytest.raises(SystemExit) as ended:
        app(["check", f"{url}/v1", "--api-key-env", "MY_KEY", "--document-tokens", "500", "--json"])
    assert ended.value.code == status
    said = capsys.readouterr().out
    assert [point["name"] for point in json.loads(said)][:2] == ["connector", "own cache"]
    assert KEY not in said


@pytest.mark.parametrize("arguments", [["http://127.0.0.1:9"], ["http://127.0.0.1:9", "--api-key-env", "NO_SUCH_KEY"]])
def test_a_server_that_cannot_be_asked_is_exit_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["check", *arguments])
    assert ended.value.code == 2
