"""``lab check`` against an engine with LMCache inside it, and against three that look as healthy and are not. The one
beside LMCache's server is asked in test_beside_a_server.py."""

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kvtiers.result.steps import Arm
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.launch import Launch
from lab.engines.presets import PRESETS
from lab.judge.asker import Check
from lab.judge.check import run_check
from lab.judge.points import Point, State
from lab.knobs import Knobs
from lab.launches import LocalRun, running
from tests.engine.life import POINTS, TIMEOUT_S, planned

pytestmark = pytest.mark.engine
Arms = dict[Arm, Launch]
Fault = Callable[[Arms], Launch]


@cache
def points(fault: Fault) -> dict[str, Point]:
    """Each engine is started once, whichever test asks first."""
    wanted = LocalRun(PRESETS["tiny"], Knobs(), lmcache_mode=LMCacheMode.IN_PROCESS)
    with tempfile.TemporaryDirectory() as logs, planned(wanted) as (_, launches):
        arms = {launch.arm: launch for launch in launches}
        with running([fault(arms)], Path(logs), TIMEOUT_S) as (engine,):
            return {point.name: point for point in run_check(Check(engine.url, engine.log_path))}


def as_it_is(arms: Arms) -> Launch:
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


@pytest.mark.parametrize("name", POINTS)
def test_the_labs_own_engine_passes(name: str) -> None:
    assert points(as_it_is)[name].state is State.OK, points(as_it_is)[name]


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
