"""Whatever answers at an address that is none of vLLM's or LMCache's is one message, and no traceback."""

from contextlib import closing
from http.server import BaseHTTPRequestHandler

import pytest

from lab.cli import app
from lab.errors import LabError
from lab.measure.cache_server import CacheServer
from lab.measure.client import Client, served_model
from lab.measure.counters import pool_size
from lab.measure.server import RequestError
from tests.lab.answering import Answering, serving

HTML = b"<html><body>It works!</body></html>"
BODIES = [HTML, b"", b"{}", b"[]", b"null", b"7", b'"text"', b'{"chunk_size": null}', b'{"chunk_size": "many"}']


class _Stranger(Answering, BaseHTTPRequestHandler):
    """Gives the same body at every address, but a list of models where it has one."""

    body: bytes
    models = b""

    def do_GET(self) -> None:
        self.answer(200, self.models if self.models and self.path.endswith("/models") else self.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()


@pytest.mark.parametrize("body", BODIES)
def test_what_is_not_lmcaches_server_is_told_with_what_server_takes(body: bytes) -> None:
    with serving(_Stranger, body=body) as url, pytest.raises(RequestError, match="--server takes its HTTP address"):
        CacheServer(url, None)


@pytest.mark.parametrize("body", BODIES)
def test_check_of_a_stranger_is_exit_2_which_is_no_failed_checkpoint(
    body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(_Stranger, body=body, models=b'{"data": [{"id": "m"}]}') as url, pytest.raises(SystemExit) as ended:
        app(["check", url, "--server", url])
    assert ended.value.code == 2
    assert "--server takes its HTTP address" in capsys.readouterr().err


@pytest.mark.parametrize("body", BODIES)
def test_what_lists_no_model_is_no_vllm_server(body: bytes) -> None:
    with serving(_Stranger, body=body) as url, pytest.raises(RequestError, match="/v1/models does not list a model"):
        served_model(url)


@pytest.mark.parametrize("body", BODIES)
def test_tokens_and_metrics_that_are_none_are_told(body: bytes) -> None:
    with serving(_Stranger, body=body) as url, closing(Client(url, "m")) as client:
        with pytest.raises(RequestError, match="/tokenize answered without tokens"):
            client.tokenize("a text")
        with pytest.raises(LabError, match="/metrics"):
            pool_size(client)


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/"])
def test_an_address_is_taken_with_and_without_what_openais_clients_want_behind_it(tail: str) -> None:
    with serving(_Stranger, body=b'{"data": [{"id": "m"}]}') as url, closing(Client(url + tail, "m")) as client:
        assert client.url == url
        assert served_model(url + tail) == "m"
