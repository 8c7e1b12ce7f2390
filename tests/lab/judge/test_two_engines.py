"""``lab survive --url A --url B`` against small servers that share a cache, or only look as if they did."""

import json
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from lab.cli import app
from lab.errors import LabError
from lab.judge.asker import Check
from lab.judge.points import Point, State
from lab.judge.two_engines import came_back, proven, run_pair
from lab.measure.client import Completion
from tests.lab.judge.server import KEY, Engine, serving

CHUNK = 100  # words
TOLD = ("connector A", "connector B", "A to B", "B to A", "answers", "lengths")
PARTS = ("first word", "middle word", "last word", "one prefix", "four documents")


@dataclass
class Chunked(Engine):
    """Keeps whole chunks, as LMCache does, each found behind all before it only."""

    chunks: set[str] = field(default_factory=set)  # of whoever shares them
    own: set[str] = field(default_factory=set)
    keeps: int = 10**9  # words of a prompt
    finds_behind: bool = False  # chunks by what is in them, wherever they lie
    busy: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, prompt: str) -> tuple[int, int]:
        words = prompt.split()
        with self.busy:
            own = _reach(self.own, words, behind=False)
            kept = max(_reach(self.chunks, words, behind=self.finds_behind), own) if self.connector else own
            self.from_tier = kept > own
            self.counts["requests"] += 1
            self.counts["own_queries"] += len(words) + self.others
            self.counts["own_hits"] += own
            self.counts["external_queries"] += len(words) - own if self.connector else 0
            self.counts["external_hits"] += kept - own
            for end in range(CHUNK, len(words) + 1, CHUNK):
                self.own.add(_name(words, end))
                if self.tier and end <= self.keeps:
                    self.chunks |= {_name(words, end), " ".join(words[end - CHUNK : end])}
        return len(words), kept


def _name(words: Sequence[str], end: int) -> str:
    return f"{end} {' '.join(words[:end])}"


def _reach(chunks: set[str], words: Sequence[str], *, behind: bool) -> int:
    reach = 0
    for end in range(CHUNK, len(words), CHUNK):
        if behind and " ".join(words[end - CHUNK : end]) in chunks:
            reach += CHUNK
        elif _name(words, end) in chunks and reach == end - CHUNK:
            reach = end
    return reach


def pair(**changes: Any) -> list[Engine]:
    shared = set[str]()
    return [Chunked(chunks=shared, **changes) for _ in range(2)]


def apart() -> list[Engine]:
    return [Chunked(), Chunked()]


def asked(engines: Sequence[Engine], ceiling_tokens: int = 60_000) -> list[Point]:
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(engine)) for engine in engines]
        wanted = [Check(url, None, KEY, document_tokens=900, ceiling_tokens=ceiling_tokens) for url in urls]
        return run_pair(wanted, wait_s=0.0)


def states(points: Sequence[Point]) -> dict[str, State]:
    return {point.name: point.state for point in points}


@pytest.mark.parametrize("chat_only", [False, True])
def test_two_engines_on_one_cache_pass_every_checkpoint(chat_only: bool) -> None:
    points = asked(pair(chat_only=chat_only))
    assert states(points) == dict.fromkeys((*TOLD, *PARTS), State.OK), points
    assert proven(points)


def test_without_a_shared_cache_it_is_not_found_again_and_nothing_more_is_asked() -> None:
    engines = apart()
    points = asked(engines)
    found = {point.name: point for point in points}
    assert (found["A to B"].state, found["B to A"].state) == (State.FAILED, State.FAILED)
    assert "not found again" in found["A to B"].what
    assert "lengths" not in found
    assert engines[0].counts["requests"] == 7


def test_one_that_keeps_nothing_is_told_from_one_that_finds_nothing() -> None:
    shared = set[str]()
    found = states(asked([Chunked(chunks=shared, tier=False), Chunked(chunks=shared)]))
    assert (found["A to B"], found["B to A"]) == (State.FAILED, State.OK)


def test_an_engine_without_a_connector_is_named() -> None:
    shared = set[str]()
    found = states(asked([Chunked(chunks=shared), Chunked(chunks=shared, connector=False)]))
    assert (found["connector A"], found["connector B"]) == (State.OK, State.FAILED)


def test_one_engine_behind_two_addresses_shares_nothing_with_itself() -> None:
    engine = Chunked()
    points = asked([engine, engine])
    assert "do both addresses lead to one engine" in points[2].what
    assert not proven(points)


def test_what_comes_back_behind_a_changed_word_is_stale() -> None:
    found = states(asked(pair(finds_behind=True)))
    assert (found["first word"], found["middle word"]) == (State.FAILED, State.FAILED)


def test_answers_that_only_the_tier_changes_fail() -> None:
    assert states(asked(pair(answers="other from the tier")))["answers"] is State.FAILED


def test_where_no_counters_are_shown_usage_tells() -> None:
    found = states(asked(pair(metrics=False)))
    assert found.pop("connector A") is found.pop("connector B") is State.UNCLEAR
    assert set(found.values()) == {State.OK}


def test_where_nothing_is_told_equal_times_prove_nothing() -> None:
    points = asked(pair(metrics=False, usage_details=False))
    assert states(points)["A to B"] is State.UNCLEAR
    assert not proven(points)


def test_times_of_a_cache_that_answers_at_once_are_told_as_such() -> None:
    shared = set[str]()
    engines = [Engine(stored=shared, metrics=False, usage_details=False) for _ in range(2)]
    points = {point.name: point for point in asked(engines)}
    assert points["A to B"].state is State.OK
    assert "by its times alone" in points["A to B"].what
    assert points["lengths"].state is State.UNCLEAR


def test_others_who_ask_meanwhile_are_no_hits_of_ours() -> None:
    answer = Completion(100, (1,), "x", 0.1, 0.1, cached_tokens=None)
    assert came_back(answer, None) is None
    found = states(asked(pair(others=40, usage_details=False)))
    assert (found["A to B"], found["traffic"]) == (State.UNCLEAR, State.UNCLEAR)


def test_the_ceiling_is_one_message() -> None:
    with pytest.raises(LabError, match="--ceiling-tokens"):
        asked(pair(), ceiling_tokens=3000)


@pytest.mark.parametrize(
    ("engines", "status"),
    [(pair(), 0), (apart(), 1), (pair(metrics=False, usage_details=False), 3)],
    ids=["shared", "apart", "untold"],
)
def test_a_gate_reads_exit_code_and_json(
    engines: list[Engine], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    options = ["--wait", "0", "--document-tokens", "900", "--api-key-env", "MY_KEY", "--json"]
    with ExitStack() as stack:
        urls = [word for engine in engines for word in ("--url", stack.enter_context(serving(engine)))]
        with pytest.raises(SystemExit) as ended:
            app(["survive", *urls, *options])
    assert ended.value.code == status
    said = {point["name"]: point["state"] for point in json.loads(capsys.readouterr().out)}
    assert said["A to B"] == {0: "ok", 1: "failed", 3: "unclear"}[status]


@pytest.mark.parametrize("urls", [["http://127.0.0.1:9"], ["http://127.0.0.1:9", "http://127.0.0.1:9/v1"]])
def test_it_wants_two_addresses(urls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["survive", *(word for url in urls for word in ("--url", url))])
    assert ended.value.code == 2
    assert "wants two engines" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["survive", "--url", "http://127.0.0.1:9", "--url", "http://127.0.0.1:10"])
    assert (ended.value.code, "no answer from http://127.0.0.1:9" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--url", "http://a", "--url", "http://b", "--engine", "cpu", "--output", "x"], "--engine, --output can't"),
        (["--json", "--wait", "1"], "--wait, --json can't be had without --url"),
    ],
)
def test_what_would_not_be_heard_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(LabError, match=said):
        app(["survive", *words], standalone_mode=False)
