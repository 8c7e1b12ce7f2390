"""Which tier answered, and whether LMCache's server is well: what ``lab check`` makes of their own words."""

from typing import Any

import pytest

from lab.judge.points import Agreement, State, agreement, answered_by, server_point
from lab.measure.client import Completion

L1, L2 = "lmcache_mp_lookup_hit_l1_tokens_total", "lmcache_mp_lookup_hit_l2_tokens_total"
LOADED, READ = "vllm:kv_offload_load_bytes_total", "vllm:kv_offload_tiering_read_bytes_total"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({L1: 1380.0}, "1,280 out of its RAM (L1), 0 from below (L2)"),
        ({L1: 100.0, L2: 1280.0}, "0 out of its RAM (L1), 1,280 from below (L2)"),
        ({L1: 100.0, LOADED: 2.0**20, READ: 2.0**19}, "vLLM's own RAM tier: 1 MiB, of it 512 KiB from below"),
        ({L1: 100.0}, "can't be told"),
    ],
)
def test_the_tier_is_named_by_the_counter_that_moved(after: dict[str, float], said: str) -> None:
    assert said in answered_by({L1: 100.0}, after)


def test_a_server_that_counts_no_hit_is_not_asked_for_again() -> None:
    assert "--server" in answered_by({}, {})
    assert answered_by({}, {}, with_server=True) == "from which tier can't be told: that LMCache server counts no hit"


@pytest.mark.parametrize("status", [{}, {"is_healthy": True, "storage_manager": []}])
def test_a_status_that_is_none_of_lmcaches_is_unclear_and_no_traceback(status: dict[str, Any]) -> None:
    assert server_point(status).state is State.UNCLEAR


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, State.OK, "engines registered: 1; RAM 1 MiB of 512 MiB; below it: FSL2Adapter"),
        ({"registered_non_cuda_instance_ids": []}, State.FAILED, "no engine uses it"),
        ({"is_healthy": False}, State.FAILED, "calls itself unhealthy"),
    ],
)
def test_a_server_without_engines_or_health_fails(changes: dict[str, Any], state: State, said: str) -> None:
    status = {
        "is_healthy": True,
        "registered_gpu_ids": [],
        "registered_non_cuda_instance_ids": [7],
        "storage_manager": {"l1_usage": [2**20, 2**29], "l2_adapters": [{"type": "FSL2Adapter"}]},
    }
    point = server_point(status | changes)
    assert point.state is state
    assert said in point.what


def answer(*logprobs: float) -> Completion:
    return Completion(3, (7, 8), "x y", 0.1, 0.1, prompt_ids=(1, 2, 3), logprobs=logprobs)


@pytest.mark.parametrize(
    ("other", "tolerance_nats", "found"),
    [
        (answer(-1.0, -2.0), 0.02, Agreement.SAME),
        (answer(-1.0, -2.1), 0.5, Agreement.SAME),
        (answer(-1.0, -2.1), 0.02, Agreement.WRONG),
        (answer(-1.0, -2.7), 0.5, Agreement.WRONG),
        (answer(), 0.02, Agreement.SAME),
    ],
)
def test_an_answer_that_looks_the_same_may_be_over_wrong_kv(
    other: Completion, tolerance_nats: float, found: Agreement
) -> None:
    assert agreement(answer(-1.0, -2.0), other, lambda *_: 0.0, tolerance_nats) is found
