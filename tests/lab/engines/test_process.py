"""Which process answers on a port: the one that was started, or a stranger."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm
from lab.engines.launch import HOST, Launch
from lab.engines.process import Process
from lab.errors import LabError
from lab.paths import REPOSITORY

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
        with pytest.raises(LabError, match=f"port {port} is answered by another process, not by the control"):
            process.healthy()
        stranger.shutdown()


_STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
_LAB = """
import sys, time
from pathlib import Path
from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm
from lab.engines import process
from lab.engines.launch import Launch
process.STOP_GRACE_S = 1
launch = Launch(Arm.CONTROL, Program.ENGINE, int(sys.argv[2]), (sys.executable, "-c", sys.argv[3]), {})
with process.Process(launch, Path(sys.argv[1])) as started:
    time.sleep(600)
"""


def test_what_a_killed_lab_started_ends_with_it_even_if_it_does_not_want_to(port: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    lab = subprocess.Popen([sys.executable, "-c", _LAB, log, str(port), _STUBBORN], cwd=REPOSITORY)
    while not (log.exists() and log.read_text().strip()):
        assert lab.poll() is None
        time.sleep(0.05)
    child = psutil.Process(int(log.read_text()))
    parent = child.parent()
    assert parent
    lab.kill()
    lab.wait()
    _, alive = psutil.wait_procs([child, parent], timeout=60)
    assert not alive
