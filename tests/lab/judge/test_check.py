"""``lab check`` against small servers that show what a real one cannot be made to show on demand."""

import json
import time
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lab.cli import app
from lab.errors import LabError
from lab.judge.check import Check, run_check
from lab.judge.points import Point, State
from lab.measure.client import Client
from lab.measure.server import RequestError
from tests.lab import answering
from tests.lab.answering import Answering

KEY = "the-key"
POOL_TOKENS = 3000
COLD_S, HIT_S = 0.2, 0.001  # far enough apart for a busy machine
METRICS = """# TYPE vllm:request_success counter
vllm:request_success_total {requests}
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total {own_queries}
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total {own_hits}
# TYPE vllm:external_prefix_cache_queries counter
vllm:external_prefix_cache_queries_total {external_queries}
# TYPE vllm:external_prefix_cache_hits counter
vllm:external_prefix_cache_hits_total {external_hits}
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="16",num_gpu_blocks="{blocks}"}} 1
"""


@dataclass
class Engine:
    """A server's memory: prompts in the pool, oldest first, and in the tier; a word is a token."""

    connector: bool = True
    tier: bool = True
    chat_only: bool = False
    metrics: bool = True
    usage_details: bool = True
    stale: bool = False
    answers: str = "same"  # or "other when cached", or "other from the tier"
    gap_nats: float | None = 2.0  # between the two answers; None: it gives no logprobs
    wait_s: float = 0.0
    forgets: bool = False  # prefix caching off
    others: int = 0  # tokens that somebody else asks meanwhile
    refuse_after: int = 10**9
    status: int = 429
    break_stream: bool = False
    from_tier: bool = False  # the last answer
    pool_blocks: int = POOL_TOKENS // 16 + 1
    pool: list[str] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("requests", "own_queries", "own_hits", "external_queries", "external_hits"), 0
        )
    )

    def ask(self, prompt: str) -> tuple[int, int]:
        """Tokens of the prompt, and of those cached."""
        tokens = len(prompt.split())
        known = (
            prompt if not self.stale else next((p for p in self.pool if p.split()[1:] == prompt.split()[1:]), prompt)
        )
        own = tokens - 1 if known in self.pool else 0
        external = tokens - 1 - own if self.connector and self.tier and prompt in self.stored and not own else 0
        self.from_tier = external > 0
        self.counts["requests"] += 1
        self.counts["own_queries"] += tokens + self.others
        self.counts["own_hits"] += own
        self.counts["external_queries"] += tokens - own if self.connector else 0
        self.counts["external_hits"] += external
        time.sleep(self.wait_s + (HIT_S if own or external else COLD_S))
        self.pool = [*(held for held in self.pool if held != prompt), prompt]
        if self.forgets:
            self.pool.clear()
        while sum(len(held.split()) for held in self.pool) > POOL_TOKENS:
            self.pool.pop(0)
        self.stored.add(prompt)
        return tokens, own + external


class _Handler(Answering, BaseHTTPRequestHandler):
    engine: Engine
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        engine = self.engine
        type(self).asked += 1
        if self.headers.get("authorization") != f"Bearer {KEY}":
            self.answer(401, b'{"error": "Unauthorized"}')
        elif type(self).asked > engine.refuse_after:
            self.answer(engine.status, b"slow down")
        elif "prompt_logprobs" in body:
            self._logprobs(engine)
        elif engine.chat_only and self.path != "/v1/chat/completions":
            self.answer(404, b"The model does not support Completions API")
        else:
            self.answer(200, self._stream(body))

    def _logprobs(self, engine: Engine) -> None:
        if engine.gap_nats is None:
            self.answer(400, b"logprobs are switched off")
            return
        likely = {"token_id:1": -0.5, "token_id:2": -0.5 - engine.gap_nats}
        self.answer(200, json.dumps({"choices": [{"logprobs": {"top_logprobs": [likely]}}]}).encode())

    def _stream(self, body: dict[str, object]) -> bytes:
        chat = "messages" in body
        prompt = body["messages"][0]["content"] if chat else body["prompt"]  # type: ignore[index]
        tokens, cached = self.engine.ask(str(prompt))
        changed = {"same": False, "other when cached": cached > 0, "other from the tier": self.engine.from_tier}
        same = not changed[self.engine.answers]
        word = "x" if same else "y"
        texts = ["", word, word]
        ids = [[], *[[1 if same else 2]] * 2]
        choices: list[dict[str, object]]
        if chat:
            choices = [{"delta": {"role": "assistant", "content": ""}}, {"delta": {"reasoning_content": word}}]
            choices += [{"delta": {"content": word}}]
        else:
            choices = [{"text": text} for text in texts]
        for choice, token_ids in zip(choices, ids, strict=True):
            choice["token_ids"] = token_ids
        events: list[dict[str, object]] = [{"choices": [choice]} for choice in choices]
        events[0]["prompt_token_ids"] = [0] * tokens
        usage: dict[str, object] = {"prompt_tokens": tokens}
        if self.engine.usage_details:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        events.append({"choices": [], "usage": usage})
        if self.engine.break_stream:
            events.insert(2, {"error": {"message": "EngineCore died"}})
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    def do_GET(self) -> None:
        if self.headers.get("authorization") != f"Bearer {KEY}":
            self.answer(401, b"Unauthorized")
        elif self.path == "/v1/models":
            self.answer(200, b'{"data": [{"id": "m"}]}')
        elif self.path == "/metrics" and self.engine.metrics:
            self.answer(200, METRICS.format(**self.engine.counts, blocks=self.engine.pool_blocks).encode())
        else:
            self.answer(404, b"not here")


def serving(engine: Engine) -> AbstractContextManager[str]:
    return answering.serving(_Handler, engine=engine, asked=0)


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
