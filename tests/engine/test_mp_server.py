"""MP mode as ``kvtiers plan`` wires it for a CPU: the server's command and vLLM's connector, on the real engine.

Of ours are the ports, the name of the shared memory, and no metrics (their exporter is not in the lab's environment).
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from kvtiers.result.evidence import Counters
from kvtiers.settings.mp import MPMode, connector, server_command
from kvtiers.settings.wiring import Plan, Platform, Wiring, mp_mode
from lab.engines.launch import Launch
from lab.engines.ports import reserved_ports
from lab.local_run import DEFAULT_CACHE_ROOT
from lab.measure.chunks import run_directory
from lab.measure.counters import await_deltas, read_totals
from lab.paths import engine_python
from tests.engine.life import DOCUMENT_TOKENS, FLOODS, HELD_TOKENS, TIMEOUT_S, Life, alive

pytestmark = pytest.mark.engine
STEPS = ("report", "report", *FLOODS, "report")
Answers = list[tuple[tuple[int, ...], Counters]]


@contextmanager
def mp_server(mode: MPMode, log: Path) -> Iterator[None]:
    """``lmcache server``, ready on entry, gone on exit."""
    program, *arguments = server_command(mode)
    command = [str(engine_python("cpu").parent / program), *arguments, "--disable-metrics"]
    environment = os.environ | {"LMCACHE_TRACK_USAGE": "false", "DO_NOT_TRACK": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while not is_ready(mode.http_port):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def is_ready(http_port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{http_port}/healthcheck").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def ask(life: Life, names: tuple[str, ...]) -> Answers:
    """Answers with what vLLM counted; MP mode logs nothing about a single request."""
    totals, answers = read_totals(life.client), []
    for number, name in enumerate(names):
        answer = life.client.complete(life.prompt(name), 16, f"mp-{number}")
        moved, totals = await_deltas(life.client, totals)
        answers.append((answer.token_ids, moved))
    return answers


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """One life, and another after both processes were started anew on the same directory."""
    logs = tmp_path_factory.mktemp("mp")
    with run_directory(DEFAULT_CACHE_ROOT) as directory, reserved_ports(2) as ports:
        planned = mp_mode(Plan(Wiring.MP_DRIVE, "tiny", cpu_gib=1, disk_path=str(directory), platform=Platform.CPU))
        assert planned is not None
        mode = replace(planned, port=ports[0], http_port=ports[1], shm_name=f"kvtiers-test-{os.getpid()}")

        def wired(launch: Launch) -> Launch:
            at = launch.command.index("--kv-transfer-config") + 1
            ours = {name for name in launch.environment if name.startswith("LMCACHE_")} - {"LMCACHE_TRACK_USAGE"}
            kept = {name: value for name, value in launch.environment.items() if name not in {*ours, "PYTHONPATH"}}
            command = (*launch.command[:at], json.dumps(connector(mode)), *launch.command[at + 1 :])
            return replace(launch, environment=kept, command=command)

        answers = {}
        for name, documents in (("first life", STEPS), ("second life", ("report",))):
            with mp_server(mode, logs / "server.log"), alive(logs, {directory: [wired]}) as (life,):
                answers[name] = ask(life, documents)
        return answers


def test_the_engine_asks_its_own_cache_first_and_the_server_after_eviction(asked: dict[str, Answers]) -> None:
    cold, at_once, *_, evicted = [counters for _, counters in asked["first life"]]
    tail = DOCUMENT_TOKENS - HELD_TOKENS
    assert cold == Counters(DOCUMENT_TOKENS, 0, DOCUMENT_TOKENS, 0)
    assert at_once == Counters(DOCUMENT_TOKENS, HELD_TOKENS, tail, 0)
    assert evicted == Counters(DOCUMENT_TOKENS, 0, DOCUMENT_TOKENS, HELD_TOKENS)


def test_the_directory_is_found_again_after_a_restart(asked: dict[str, Answers]) -> None:
    ((_, counters),) = asked["second life"]
    assert counters.external_hits == HELD_TOKENS


def test_the_answer_is_the_same_wherever_the_kv_comes_from(asked: dict[str, Answers]) -> None:
    reports = [answer for (answer, _), name in zip(asked["first life"], STEPS, strict=True) if name == "report"]
    assert {*reports, asked["second life"][0][0]} == {reports[0]}
