"""Our sizes against what vLLM 0.32.0 itself sets aside: started on the CPU where it can, through its spec code elsewhere."""

import re
from typing import Any

import pytest

from kvtiers.model import VllmOptions, kv_spec, reserve
from tests.engine.cases import CASES, Case, engine_arguments
from tests.engine.python import run_in_engine

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def started() -> dict[str, dict[str, Any]]:
    """What the engine said, by case; one process starts it for each."""
    cases = [{"name": case.name, "config": case.config, "arguments": engine_arguments(case)} for case in CASES]
    return run_in_engine("start_vllm.py", cases)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_capacity_is_the_engines_own_log_line(case: Case, started: dict[str, dict[str, Any]]) -> None:
    said = started[case.name]
    assert "error" not in said, said["error"]
    options = VllmOptions(
        block_size=engine_arguments(case)["block_size"],
        kernel_block=32,
        hybrid_manager=said["hybrid_manager"],
        prefix_caching=said["prefix_caching"],
        max_num_batched_tokens=said["in_flight_tokens"],
        concurrent_batches=1,
    )
    # the CPU backend keeps recurrent states in float32 where the GPU's keep the model's type
    state_dtype = None if said["state_dtype"] == "auto" else said["state_dtype"]
    reservation = reserve(kv_spec(case.config, state_dtype=state_dtype), options)
    capacity = reservation.capacity_tokens(said["memory_bytes"], said["max_model_len"])
    logged = re.search(r"KV cache size: ([\d,]+) tokens", said["log"])
    assert logged is not None, said["log"]
    assert capacity == pytest.approx(int(logged[1].replace(",", "")), rel=0.01)
    if said["prefix_caching"]:
        assert reservation.hit_granularity_tokens == said["hit_granularity_tokens"]
