"""What an engine with LMCache inside logged about a request: parts of a long prompt, several ranks, older forms.

The lines have the form of public reports; no GPU was at hand.
"""

import time
from pathlib import Path

import pytest

from kvtiers.result.steps import Step
from lab.judge.engine_log import EngineLog

AT = "[2026-08-21 21:08:22,628] LMCache INFO:"
REQUEST = "cmpl-kvtiers-3-0-ab"
LOOKUP = (
    f"(EngineCore_DP0 pid=100) {AT} Reqid: {REQUEST}, Total tokens {{total}}, Inference Engine computed tokens: "
    "{computed}, LMCache hit tokens: {hit}, need to load: {load} (vllm_v1_adapter.py:1189:lmcache)"
)
STORED = (
    f"({{worker}} pid=20{{rank}}) {AT} [req_id={REQUEST}] Stored {{tokens}} out of total {{total}} tokens. size: "
    "0.25 GB, cost {ms} ms, throughput: 20.3 GB/s; offload_time: 1 ms, put_time: 2 ms (cache_engine.py:309:lmcache)"
)
RETRIEVED = (
    f"({{worker}} pid=20{{rank}}) {AT} [req_id={REQUEST}] Retrieved {{tokens}} out of {{tokens}} required tokens "
    "(from 1330 total tokens). size: 0.1 gb, cost 5.0 ms, throughput: 20.0 GB/s; (cache_engine.py:509:lmcache)"
)
NAMES = ["Worker_TP{}", "VllmWorker TP{}", "VllmWorker rank={}"]


def write(log: Path, *lines: str) -> None:
    with log.open("a") as stream:
        stream.writelines(line + "\n" for line in lines)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "engine.log"
    path.touch()
    return path


def test_the_parts_of_a_long_prompt_are_one_store(log: Path) -> None:
    follower = EngineLog(log)
    parts = [(2048, 10.0), (2048, 11.0), (2048, 12.0), (1792, 9.0)]
    stored = [STORED.format(worker="EngineCore", rank=0, tokens=n, total=7986, ms=ms) for n, ms in parts]
    write(log, LOOKUP.format(total=7986, computed=0, hit=0, load=0), *stored)
    found = follower.request("kvtiers-3", Step.COLD)
    assert found.stored_tokens == 7936
    assert found.store_s == pytest.approx(0.042)


def test_a_part_that_is_not_there_yet_is_waited_for(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follower, late = EngineLog(log), STORED.format(worker="EngineCore", rank=0, tokens=1792, total=3840, ms=1)
    write(log, LOOKUP.format(total=3900, computed=0, hit=0, load=0))
    write(log, STORED.format(worker="EngineCore", rank=0, tokens=2048, total=2048, ms=1))
    monkeypatch.setattr(time, "sleep", lambda _: write(log, late))
    assert follower.request("kvtiers-3", Step.COLD).stored_tokens == 3840


@pytest.mark.parametrize("name", NAMES)
def test_of_several_ranks_each_moves_the_same_tokens(log: Path, name: str) -> None:
    follower, ranks = EngineLog(log), range(4)
    write(log, LOOKUP.format(total=1330, computed=0, hit=0, load=0))
    write(log, *(STORED.format(worker=name.format(r), rank=r, tokens=1280, total=1330, ms=8) for r in ranks))
    cold = follower.request("kvtiers-3", Step.COLD)
    assert (cold.stored_tokens, cold.store_s) == (1280, 0.008)
    write(log, LOOKUP.format(total=1330, computed=0, hit=1280, load=1280))
    write(log, *(RETRIEVED.format(worker=name.format(r), rank=r, tokens=1280) for r in ranks))
    assert follower.request("kvtiers-3", Step.SSD_REUSE).retrieved_tokens == 1280


def test_a_negative_load_is_nothing_to_load(log: Path) -> None:
    """Older versions print it where the engine holds more than LMCache's full chunks."""
    follower = EngineLog(log)
    write(log, LOOKUP.format(total=1330, computed=1328, hit=1280, load=-48))
    found = follower.request("kvtiers-3", Step.GPU_HIT)
    assert (found.computed_tokens, found.hit_tokens, found.need_to_load_tokens) == (1328, 1280, 0)


def test_the_line_of_the_lookup_is_kept_without_colours(log: Path) -> None:
    follower = EngineLog(log)
    plain = LOOKUP.format(total=1330, computed=0, hit=1280, load=1280)
    write(log, plain.replace("INFO:", "\x1b[32;20mINFO:\x1b[0m"), RETRIEVED.format(worker="W", rank=0, tokens=1280))
    assert follower.request("kvtiers-3", Step.CPU_HIT).line == plain
