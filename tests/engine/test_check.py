"""``lab check`` against the lab's own engine, and against three that look as healthy and are not."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.launch import Launch
from lab.engines.presets import PRESETS
from lab.engines.process import Process
from lab.judge.asker import Check
from lab.judge.check import run_check
from lab.judge.points import Point, State
from lab.knobs import Knobs
from lab.launches import LocalRun, running
from tests.engine.life import TIMEOUT_S, planned

pytestmark = pytest.mark.engine
Arms = dict[Arm, Launch]
Fault = Callable[[Arms], Launch]


@contextmanager
def alive(fault: Fault, logs: Path) -> Iterator[list[Process]]:
    mode = LMCacheMode.MP if fault is beside_a_server else LMCacheMode.IN_PROCESS
    wanted = LocalRun(PRESETS["tiny"], Knobs(), lmcache_mode=mode)
    with planned(wanted) as (_, launches):
        servers = [launch for launch in launches if launch.program is Program.SERVER]
        engines = {launch.arm: launch for launch in launches if launch.program is Program.ENGINE}
        with running([*servers, fault(engines)], logs, TIMEOUT_S) as started:
            yield started


@cache
def points(fault: Fault) -> dict[str, Point]:
    """Each engine is started once, whichever test asks first."""
    with tempfile.TemporaryDirectory() as logs, alive(fault, Path(logs)) as (*servers, engine):
        server = servers[0].url if servers else None
        log = servers[0].log_path if servers else engine.log_path
        return {point.name: point for point in run_check(Check(engine.url, log, server=server))}


def as_it_is(arms: Arms) -> Launch:
    return arms[Arm.LMCACHE]


def beside_a_server(arms: Arms) -> Launch:
    return arms[Arm.LMCACHE]


def without_lmcache(arms: Arms) -> Launch:
    return arms[Arm.CONTROL]


def degraded(arms: Arms) -> Launch:
    """vLLM's stock connector: LMCache has none for a CPU."""
    launch = arms[Arm.LMCACHE]
    at = launch.command.index("--kv-transfer-config") + 1
    stock = json.dumps({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"})
    return replace(launch, command=(*launch.command[:at], stock, *launch.command[at + 1 :]))


def disk_limit_0(arms: Arms) -> Launch:
    launch = arms[Arm.LMCACHE]
    return replace(launch, environment=launch.environment | {"LMCACHE_MAX_LOCAL_DISK_SIZE": "0"})


@pytest.mark.parametrize("fault", [as_it_is, beside_a_server])
@pytest.mark.parametrize("name", ["connector", "own cache", "tier", "changed token", "answers", "log"])
def test_the_labs_own_engines_pass(fault: Fault, name: str) -> None:
    assert points(fault)[name].state is State.OK, points(fault)[name]


def test_lmcaches_server_says_which_tier_answered() -> None:
    found = points(beside_a_server)
    assert found["server"].state is State.OK, found
    assert "engines registered: 1" in found["server"].what
    # How much depends on the random documents: four or five chunks each.
    came_back, from_ram = re.findall(r"([\d,]+) (?:tokens came back|out of its RAM \(L1\), 0 from)", found["tier"].what)
    assert came_back == from_ram


@pytest.mark.parametrize(
    ("fault", "failed", "reason"),
    [
        (without_lmcache, "connector", "no KV connector is asked"),
        (without_lmcache, "log", "[no_connector]"),
        (degraded, "own cache", "waits about 3 s"),
        (degraded, "log", "[degraded]"),
        (disk_limit_0, "tier", "nothing came back after eviction"),
        (disk_limit_0, "log", "[no_disk_tier]"),
    ],
)
def test_engines_that_only_look_healthy_fail_with_the_reason(fault: Fault, failed: str, reason: str) -> None:
    point = points(fault)[failed]
    assert point.state is State.FAILED, points(fault)
    assert reason in point.what
