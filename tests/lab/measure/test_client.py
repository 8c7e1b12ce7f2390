"""Faults that a real engine cannot be made to show on demand, from a small server that shows them."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler

import pytest

from lab.measure.client import Client, served_model
from lab.measure.server import RequestError
from tests.lab.answering import Answering, serving


def _event(**data: object) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


TOKEN = _event(choices=[{"text": "a", "token_ids": [5]}])
STREAMS = {
    "good": _event(choices=[{"text": "", "token_ids": [], "prompt_token_ids": [1, 2]}])
    + TOKEN
    + TOKEN
    + _event(choices=[], usage={"prompt_tokens": 2})
    + b"data: [DONE]\n\n",
    "no ids": _event(choices=[{"text": "a"}]) + _event(choices=[{"text": "b"}]) + b"data: [DONE]\n\n",
    "ends at once": _event(choices=[{"text": "", "finish_reason": None}])
    + _event(choices=[{"text": "", "finish_reason": "stop"}])
    + b"data: [DONE]\n\n",
    "error": TOKEN + _event(error={"message": "KV load failed"}),
    "garbage": b"data: {not json\n\n",
    "a list": b"data: []\n\n",
    "empty": b"data: [DONE]\n\n",
}


class _Handler(Answering, BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = body["model"]
        if name == "busy":
            self.answer(503, b"overloaded")
        elif name == "cut":
            self.send_response(200)
            self.send_header("content-length", "100000")
            self.end_headers()
            self.wfile.write(TOKEN)
            self.close_connection = True
        else:
            self.answer(200, STREAMS[name])

    def do_GET(self) -> None:
        self.answer(200, b'{"data": []}')


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(_Handler) as address:
        yield address


def test_time_to_first_token_skips_an_empty_first_chunk(url: str) -> None:
    with closing(Client(url, "good")) as client:
        completion = client.complete([1, 2], 2, "r")
    assert completion.token_ids == (5, 5)
    assert completion.text == "aa"
    assert completion.prompt_tokens == 2
    assert completion.ttft_s > 0


def test_a_server_without_token_ids_still_gives_times(url: str) -> None:
    with closing(Client(url, "no ids")) as client:
        completion = client.complete([1], 2, "r")
    assert (completion.token_ids, completion.text) == ((), "ab")
    assert completion.tpot_s >= 0


def test_an_answer_without_text_is_an_answer(url: str) -> None:
    with closing(Client(url, "ends at once")) as client:
        completion = client.ask("a", 2, "r", chat=False)
    assert (completion.text, completion.tpot_s) == ("", 0)
    assert completion.ttft_s > 0


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("busy", "answered 503: overloaded"),
        ("cut", "broke"),
        ("error", "KV load failed"),
        ("garbage", "not JSON"),
        ("a list", "not an object"),
        ("empty", "held no token"),
    ],
)
def test_a_fault_is_one_message(url: str, stream: str, message: str) -> None:
    with closing(Client(url, stream)) as client, pytest.raises(RequestError, match=message):
        client.complete([1, 2], 2, "r")


def test_a_server_without_models_is_not_taken_for_one(url: str) -> None:
    with pytest.raises(RequestError, match="does not list a model"):
        served_model(url)


def test_nobody_there(url: str) -> None:
    with pytest.raises(RequestError, match="no answer from"):
        served_model("http://127.0.0.1:9")
