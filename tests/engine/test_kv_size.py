"""Our sizes against vLLM 0.32.0's: started on the CPU where it can be, through its spec code elsewhere."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from kvtiers.model import VllmOptions, kv_spec, reserve
from kvtiers.model.public import public_models
from tests.engine.kv_size.cases import CASES, Case, engine_arguments
from tests.engine.python import run_in_engine

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def started() -> dict[str, dict[str, Any]]:
    """What the engine said, by case; one process starts it for each."""
    cases = [{"name": case.name, "config": case.config, "arguments": engine_arguments(case)} for case in CASES]
    return run_in_engine("kv_size/start_vllm.py", cases)


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


@dataclass(frozen=True)
class Deployment:
    """A public model as published, with settings the CPU backend has no kernels or ranks for."""

    model: str
    kv_dtype: str | None = None
    tp: int = 1
    pp: int = 1

    @property
    def name(self) -> str:
        """Model and settings."""
        return f"{self.model} {self.kv_dtype or 'auto'} tp={self.tp} pp={self.pp}"

    def case(self) -> dict[str, Any]:
        """The case as ``spec_vllm.py`` takes it."""
        return {
            "name": self.name,
            "config": public_models()[self.model],
            "kv_dtype": self.kv_dtype or "auto",
            "tp": self.tp,
            "pp": self.pp,
            "max_model_len": MAX_MODEL_LEN,
            "memory_bytes": MEMORY_BYTES,
            "in_flight_tokens": IN_FLIGHT_TOKENS,
        }


MAX_MODEL_LEN, MEMORY_BYTES, IN_FLIGHT_TOKENS = 8192, 8 << 30, 4096
DEPLOYMENTS = (
    Deployment("DeepSeek-V3"),
    Deployment("DeepSeek-V3", "fp8"),
    Deployment("DeepSeek-V3", "fp8_ds_mla"),
    Deployment("DeepSeek-V3", "nvfp4_ds_mla"),
    Deployment("DeepSeek-V3", "int8_per_token_head"),
    Deployment("DeepSeek-V3", tp=8),
    Deployment("DeepSeek-V3.2"),
    Deployment("DeepSeek-V3.2", "fp8_ds_mla"),
    Deployment("GLM-5.2"),
    Deployment("Kimi-K2"),
    Deployment("Kimi-Linear-48B-A3B"),
    Deployment("Kimi-Linear-48B-A3B", tp=4),
    Deployment("Qwen3.5-27B"),
    Deployment("Qwen3.5-27B", tp=2),
    Deployment("Qwen3-Next-80B-A3B", tp=4),
    Deployment("Whisper-large-v3"),
    Deployment("Qwen3-8B", "fp8"),
    Deployment("Qwen3-8B", "fp8_e5m2"),
    Deployment("Qwen3-8B", "fp8_per_token_head"),
    Deployment("Qwen3-8B", "int8_per_token_head"),
    Deployment("Qwen3-8B", "int4_per_token_head"),
    Deployment("Qwen3-8B", tp=2),
    Deployment("Qwen3-8B", tp=16),
    Deployment("GLM-4.5", tp=8),
    Deployment("Llama-3.1-405B", tp=16),
    Deployment("Llama-3.1-405B", tp=8, pp=4),
    Deployment("DeepSeek-V3", tp=8, pp=3),
    Deployment("Qwen3-Next-80B-A3B", pp=4),
    Deployment("Qwen3.5-27B", tp=2, pp=5),
)


@pytest.fixture(scope="module")
def planned() -> dict[str, dict[str, Any]]:
    """What vLLM's cache code makes of the deployments, by name."""
    return run_in_engine("kv_size/spec_vllm.py", [deployment.case() for deployment in DEPLOYMENTS])


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment.name)
def test_capacity_is_what_vllms_spec_code_gives(deployment: Deployment, planned: dict[str, dict[str, Any]]) -> None:
    plan = planned[deployment.name]
    assert "error" not in plan, plan["error"]
    spec = kv_spec(public_models()[deployment.model], deployment.kv_dtype)
    options = VllmOptions(max_num_batched_tokens=IN_FLIGHT_TOKENS, concurrent_batches=1)
    reservation = reserve(spec, options, tp=deployment.tp, pp=deployment.pp)
    assert reservation.capacity_tokens(MEMORY_BYTES, MAX_MODEL_LEN) == pytest.approx(plan["tokens"], rel=0.01)
