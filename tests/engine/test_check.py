"""``lab check`` against the lab's own engine, and against three that look as healthy and are not."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kvtiers.result.steps import Arm
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.launch import Launch
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.engines.process import Process
from lab.judge.check import Check, Point, State, run_check
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, Directories, LocalRun, launches, pool_of, running
from lab.measure.chunks import run_directory

pytestmark = pytest.mark.engine
START_TIMEOUT_S = 300.0
Arms = dict[Arm, Launch]
Fault = Callable[[Arms], Launch]


@contextmanager
def engine(fault: Fault, logs: Path) -> Iterator[Process]:
    wanted = LocalRun(PRESETS["tiny"], Knobs(), lmcache_mode=LMCacheMode.IN_PROCESS)
    with (
        run_directory(DEFAULT_CACHE_ROOT) as chunks,
        run_directory(Path(tempfile.gettempdir())) as sockets,
        reserved_ports(len(wanted.arms)) as ports,
    ):
        planned = launches(wanted, pool_of(wanted), Directories(chunks, sockets), ports, direct_io=False)
        with running([fault({launch.arm: launch for launch in planned})], logs, START_TIMEOUT_S) as (started,):
            yield started


@cache
def points(fault: Fault) -> dict[str, Point]:
    """Each engine is started once, whichever test asks first."""
    with tempfile.TemporaryDirectory() as logs, engine(fault, Path(logs)) as started:
        return {point.name: point for point in run_check(Check(started.url, started.log_path))}


def as_it_is(planned: Arms) -> Launch:
    return planned[Arm.LMCACHE]


def without_lmcache(planned: Arms) -> Launch:
    return planned[Arm.CONTROL]


def degraded(planned: Arms) -> Launch:
    """vLLM's stock connector: LMCache has none for a CPU."""
    launch = planned[Arm.LMCACHE]
    at = launch.command.index("--kv-transfer-config") + 1
    stock = json.dumps({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"})
    return replace(launch, command=(*launch.command[:at], stock, *launch.command[at + 1 :]))


def disk_limit_0(planned: Arms) -> Launch:
    launch = planned[Arm.LMCACHE]
    return replace(launch, environment=launch.environment | {"LMCACHE_MAX_LOCAL_DISK_SIZE": "0"})


@pytest.mark.parametrize("name", ["connector", "own cache", "tier", "changed token", "answers", "log"])
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
