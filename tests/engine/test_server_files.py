"""Files of LMCache's server: nothing in them tells whose they are or that they are whole. Claims name these."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from kvtiers.settings.mp import Drive, MPMode, Transfer, connector, server_command
from lab.engines.launch import Launch
from lab.engines.ports import reserved_ports
from lab.measure.counters import await_deltas, read_totals
from lab.paths import engine_python
from tests.engine.life import CHUNKS, FLOODS, HELD_TOKENS, TIMEOUT_S, Change, Life, alive

pytestmark = pytest.mark.engine


def await_true(condition: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)


@contextmanager
def cache_server(mode: MPMode, log: Path) -> Iterator[str]:
    """``lmcache server``; the address of its HTTP port once it answers there."""
    program, *arguments = server_command(mode)
    command = [str(engine_python("cpu").parent / program), *arguments, "--disable-metrics"]
    environment = os.environ | {"LMCACHE_TRACK_USAGE": "false", "DO_NOT_TRACK": "1"}
    address = f"http://{mode.http_host}:{mode.http_port}"

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            return httpx.get(f"{address}/healthcheck").is_success
        except httpx.HTTPError:
            return False

    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        await_true(is_ready, log)
        yield address
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def wired(mode: MPMode, dtype: str) -> Change:
    """The lab's engine with LMCache's server in place of what it had, and another type."""

    def change(launch: Launch) -> Launch:
        words = list(launch.command)
        words[words.index("--dtype") + 1] = dtype
        words[words.index("--kv-transfer-config") + 1] = json.dumps(connector(mode))
        kept = {name: value for name, value in launch.environment.items() if name != "PYTHONPATH"}
        return replace(launch, command=tuple(words), environment=kept)

    return change


def ask(life: Life, name: str) -> tuple[tuple[int, ...], int]:
    """The answer, and how many tokens came from LMCache."""
    totals = read_totals(life.client)
    answer = life.client.complete(life.prompt(name), 16, name.replace(" ", "-"))
    moved, _ = await_deltas(life.client, totals)
    return answer.token_ids, moved.external_hits


@dataclass(frozen=True)
class Server:
    """A running server with a directory as L2."""

    mode: MPMode
    directory: Path
    address: str
    log: Path

    def files(self) -> set[Path]:
        return set(self.directory.rglob("*.data"))

    def await_files(self, count: int) -> None:
        await_true(lambda: len(self.files()) >= count, self.log)

    def empty_ram(self) -> None:
        httpx.post(f"{self.address}/cache/clear").raise_for_status()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    directory, log = tmp_path / "kv", tmp_path / "server.log"
    directory.mkdir()
    with reserved_ports(2) as (port, http_port):
        mode = MPMode(
            1,
            Drive(str(directory), direct_io=False),
            port=port,
            http_port=http_port,
            transfer=Transfer.AUTO,
            shm_name=f"kvtiers-test-{os.getpid()}",
        )
        with cache_server(mode, log) as address:
            yield Server(mode, directory, address, log)


def test_another_kv_type_hits_fully_and_answers_wrongly_without_an_error(server: Server, tmp_path: Path) -> None:
    with alive(tmp_path, {server.directory: [wired(server.mode, "bfloat16")]}) as (first,):
        assert ask(first, "report")[1] == 0
        server.await_files(CHUNKS)
    # From RAM it came back right when this was tried; only a file's bytes are taken for what they are not.
    server.empty_ram()
    with alive(tmp_path, {server.directory: [wired(server.mode, "float16")]}) as (second,):
        restored, hits = ask(second, "report")
        assert hits == HELD_TOKENS
        for flood in FLOODS:
            ask(second, flood)
        for path in server.files():
            path.unlink()
        server.empty_ram()
        computed, hits = ask(second, "report")
        assert hits == 0
    assert restored != computed
