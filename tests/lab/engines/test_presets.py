"""What is said of a preset before its model is there, against arithmetic on its config.json; and what a run holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvtiers.model import kv_spec
from kvtiers.units import GIB
from lab.engines.card import card_share
from lab.engines.models import preset_config
from lab.engines.presets import PRESETS, Preset
from lab.knobs import FLOODS, Knobs
from lab.launches import LocalRun, pool_of, storage_for
from machine.gpu import Card
from tests.lab.engines.configs import config

FROM_A_HUB = [preset for preset in PRESETS.values() if "/" in preset.model and not Path(preset.model).is_absolute()]
LONG = Knobs(pool_tokens=8704, document_tokens=7986, repeats=1, control=False)
_BITS = {"fp8": 8.0, "awq": 4.25}  # awq: 4 bits, and of 128 weights together a scale and a zero point


def weights(model: dict[str, Any], bytes_each: int) -> float:
    """Bytes of a dense Qwen3: projections in the quantized type, embeddings and norms as they are computed."""
    hidden, layers, head = model["hidden_size"], model["num_hidden_layers"], model["head_dim"]
    queries, keys = model["num_attention_heads"] * head, model["num_key_value_heads"] * head
    projections = layers * hidden * (2 * queries + 2 * keys + 3 * model["intermediate_size"])
    embeddings = model["vocab_size"] * hidden * (1 if model["tie_word_embeddings"] else 2)
    norms = layers * (2 * hidden + 2 * head) + hidden
    bits = _BITS.get(model.get("quantization_config", {}).get("quant_method"), 8.0 * bytes_each)
    return float(projections * bits / 8 + (embeddings + norms) * bytes_each)


@pytest.mark.parametrize("preset", FROM_A_HUB, ids=lambda preset: preset.name)
def test_kv_and_weights_are_those_of_the_config(preset: Preset, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config(preset.model)))
    model, bytes_each = preset_config(preset, tmp_path), 4 if preset.dtype == "float32" else 2
    assert kv_spec(model).bytes_per_token == preset.kv_bytes_per_token
    assert preset.weight_bytes == pytest.approx(weights(model, bytes_each), rel=0.005)


@pytest.mark.parametrize("knobs", [Knobs(), LONG], ids=["as it comes", "LONG=1"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_servers_ram_holds_what_is_in_flight_below_the_share_at_which_it_evicts(preset: str, knobs: Knobs) -> None:
    """However slow the drive: a document and all that a round floods with may wait to be written, doubled where a step
    loads it back."""
    run = LocalRun(PRESETS[preset], knobs)
    pool = pool_of(run)
    flood = pool.flood_tokens(knobs.document_tokens)
    in_flight = (2 * knobs.document_tokens + 2 * FLOODS * flood) * pool.kv_bytes_per_token
    assert in_flight < 0.8 * GIB * storage_for(run, pool, Path("/RUN"), direct_io=True).l1_gib


@pytest.mark.parametrize("knobs", [Knobs(), LONG], ids=["as it comes", "LONG=1"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_buffer_inside_an_engine_holds_what_is_in_flight(preset: str, knobs: Knobs) -> None:
    run = LocalRun(PRESETS[preset], knobs)
    pool = pool_of(run)
    in_flight = knobs.document_tokens + FLOODS * pool.flood_tokens(knobs.document_tokens)
    staging_gib = storage_for(run, pool, Path("/RUN"), direct_io=True).staging_gib
    assert in_flight * pool.kv_bytes_per_token < GIB * staging_gib


@pytest.mark.parametrize("knobs", [Knobs(), LONG], ids=["as it comes", "LONG=1"])
@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if preset.engine == "cuda"])
def test_a_gpu_hit_prefills_the_same_tail_as_a_load(preset: str, knobs: Knobs) -> None:
    pool, document, chunk = pool_of(LocalRun(PRESETS[preset], knobs)), knobs.document_tokens, knobs.chunk_tokens
    of_blocks = document % pool.block_tokens
    assert of_blocks == document % chunk


@pytest.mark.parametrize(
    ("gib", "largest"),
    [(8, "qwen3-4b-awq"), (12, "qwen3-4b-awq"), (16, "qwen3-8b-fp8"), (24, "qwen3-14b-fp8"), (80, "qwen3-32b-fp8")],
)
def test_each_size_of_card_has_its_largest_preset(gib: int, largest: str) -> None:
    card = Card(0, "GPU-0", "NVIDIA Some Card", "580.95.05", (8, 9), gib * GIB, int(0.95 * gib * GIB))
    fitting = []
    for preset in PRESETS.values():
        pool = pool_of(LocalRun(preset, Knobs()))
        if preset.engine == "cuda" and card_share(card, pool, preset.weight_bytes, with_server=True).engines:
            fitting.append(preset.name)
    assert fitting[-1] == largest
    assert fitting[0] == "qwen3-0.6b"
