"""Which process answers on a port: the one that was started, or a stranger."""

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm
from lab.engines.launch import HOST, Launch
from lab.engines.process import Process, ProcessError

_ANSWERS = """
import http.server, sys
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
"""


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        number: int = probe.getsockname()[1]
        return number


@contextmanager
def started(code: str, port: int, log: Path) -> Iterator[Process]:
    launch = Launch(Arm.CONTROL, Program.ENGINE, port, (sys.executable, "-c", code, str(port)), {})
    with Process(launch, log) as process:
        yield process


def test_the_started_process_is_healthy_once_it_answers(port: int, tmp_path: Path) -> None:
    with started(_ANSWERS, port, tmp_path / "log") as process:
        while not process.healthy():
            process.check()
            time.sleep(0.05)


def test_a_stranger_who_answers_first_is_not_taken_for_it(port: int, tmp_path: Path) -> None:
    with (
        started("import time; time.sleep(60)", port, tmp_path / "log") as process,
        ThreadingHTTPServer((HOST, port), Healthy) as stranger,
    ):
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        with pytest.raises(ProcessError, match=f"port {port} is answered by another process, not by the control"):
            process.healthy()
        stranger.shutdown()
