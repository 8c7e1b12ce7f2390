"""Each preset's commands through vLLM's own argument parser and config checks, and LMCache's own server parser. The CPU
engine has the same versions as the one for GPUs."""

from pathlib import Path
from typing import Any

import pytest

from kvtiers.model import read_config
from kvtiers.units import GIB
from lab.engines.presets import BLOCK_TOKENS, PRESETS, Preset
from lab.knobs import Knobs
from lab.launches import LocalRun, dry_run, pool_of, share_of_card, storage_for
from machine.gpu import Card
from tests.engine.python import run_in_engine
from tests.lab.engines.configs import config

pytestmark = pytest.mark.engine
CARD = Card(0, "GPU-0", "NVIDIA Some Card", "580.95.05", (9, 0), 80 * GIB, 79 * GIB)
RUNS = {
    name: LocalRun(preset, Knobs(), card=CARD if preset.engine == "cuda" else None) for name, preset in PRESETS.items()
}


def config_of(preset: Preset) -> dict[str, Any]:
    return read_config(preset.model) if Path(preset.model).is_absolute() else config(preset.model)


@pytest.fixture(scope="module")
def engines() -> dict[str, dict[str, Any]]:
    """What vLLM reads of each engine's arguments, by preset and arm."""
    cases: list[dict[str, Any]] = [
        {"name": f"{name} {launch.arm}", "arguments": launch.command[3:], "config": config_of(run.preset)}
        for name, run in RUNS.items()
        for launch in dry_run(run)[1:]
    ]
    cases.append({"name": "whole blocks", "block": BLOCK_TOKENS["cuda"]})
    return run_in_engine("settings/load_command.py", cases)


@pytest.fixture(scope="module")
def servers() -> dict[str, dict[str, Any]]:
    cases = [{"name": name, "job": "server", "arguments": dry_run(run)[0].command[2:]} for name, run in RUNS.items()]
    return run_in_engine("settings/load_settings.py", cases)


@pytest.mark.parametrize("arm", ["lmcache", "control"])
@pytest.mark.parametrize("name", PRESETS)
def test_vllm_reads_what_was_meant(engines: dict[str, dict[str, Any]], name: str, arm: str) -> None:
    read, pool = engines[f"{name} {arm}"], pool_of(RUNS[name])
    assert read.get("error") is None
    assert (read["host"], read["served_model_name"]) == ("127.0.0.1", [name])
    assert (read["block_size"], read["num_gpu_blocks_override"]) == (pool.block_tokens, pool.blocks)
    assert read["max_model_len"] == pool.tokens
    assert read["architecture"] == "Qwen3ForCausalLM"
    assert read["kv_connector"] == ("LMCacheMPConnector" if arm == "lmcache" else None)
    share = share_of_card(RUNS[name], pool)
    assert read["gpu_memory_utilization"] == (share.utilization if share else 0.92)


@pytest.mark.parametrize("name", PRESETS)
def test_the_model_is_quantized_and_typed_as_the_preset_says(engines: dict[str, dict[str, Any]], name: str) -> None:
    read = engines[f"{name} lmcache"]
    kind = name.rpartition("-")[2]
    assert (read["quantization"] or "").replace("_marlin", "") == (kind if kind in ("fp8", "awq") else "")
    assert read["dtype"] == ("torch.float32" if PRESETS[name].engine == "cpu" else "torch.bfloat16")


@pytest.mark.parametrize("name", PRESETS)
def test_lmcaches_server_reads_what_was_meant(servers: dict[str, dict[str, Any]], name: str) -> None:
    read, run = servers[name], RUNS[name]
    assert read.get("error") is None
    storage = storage_for(run, pool_of(run), Path("/RUN/chunks"), direct_io=True)
    assert read["l1_bytes"] == int(storage.l1_gib * GIB)
    assert read["server"]["chunk_size"] == run.knobs.chunk_tokens
    assert read["server"]["supported_transfer_mode"] == ("auto" if run.preset.engine == "cpu" else "lmcache_driven")
    (drive,) = read["adapters"]
    assert (drive["class"], drive["fields"]["base_path"]) == ("FSL2AdapterConfig", "/RUN/chunks")


def test_the_attention_kernels_of_gpus_take_our_block_whole(engines: dict[str, dict[str, Any]]) -> None:
    """One that splits it would not be told to LMCache."""
    backends = {name: whole for name, whole in engines["whole blocks"].items() if name != "name"}
    assert len(backends) == 3
    assert all(backends.values())
