"""What holds for every model, whatever its shape."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtiers.model import VllmOptions, kv_spec, reserve
from kvtiers.model.public import public_models

POWERS = st.sampled_from([1, 2, 4, 8, 16])
CONTEXTS = st.integers(min_value=1, max_value=1_000_000)
MODELS = st.sampled_from(sorted(public_models()))


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    """Configs of plain decoders, some with windows."""
    kv_heads = draw(POWERS)
    layers = draw(st.integers(min_value=1, max_value=24))
    config: dict[str, Any] = {
        "model_type": "llama",
        "torch_dtype": "float16",
        "num_hidden_layers": layers,
        "num_key_value_heads": kv_heads,
        "num_attention_heads": kv_heads * draw(POWERS),
        "head_dim": draw(st.sampled_from([32, 64, 80, 128, 256])),
    }
    if draw(st.booleans()):
        config["sliding_window"] = draw(st.integers(min_value=1, max_value=8192))
        kinds = st.sampled_from(["full_attention", "sliding_attention"])
        config["layer_types"] = draw(st.lists(kinds, min_size=layers, max_size=layers))
    return config


@given(shapes(), CONTEXTS)
def test_more_layers_heads_or_context_never_need_less(config: dict[str, Any], context: int) -> None:
    kept = kv_spec(config).kept_bytes(context)
    assert kv_spec(config).kept_bytes(context + 1) >= kept
    deeper = config | {"num_hidden_layers": config["num_hidden_layers"] + 1}
    if "layer_types" in config:
        deeper["layer_types"] = [*config["layer_types"], "full_attention"]
    assert kv_spec(deeper).kept_bytes(context) > kept
    wider = {key: 2 * config[key] for key in ("num_key_value_heads", "num_attention_heads")}
    assert kv_spec(config | wider).kept_bytes(context) == 2 * kept


@given(shapes(), CONTEXTS)
def test_fp8_is_half_of_fp16(config: dict[str, Any], context: int) -> None:
    assert 2 * kv_spec(config, "fp8").kept_bytes(context) == kv_spec(config, "fp16").kept_bytes(context)


@given(shapes(), CONTEXTS, POWERS)
def test_tensor_parallelism_never_lowers_the_total(config: dict[str, Any], context: int, tp: int) -> None:
    spec = kv_spec(config)
    assert spec.kept_bytes(context, tp=tp) >= spec.kept_bytes(context)
    assert reserve(spec, tp=tp).reserved_bytes(context) >= reserve(spec).reserved_bytes(context)


@given(shapes(), CONTEXTS, st.sampled_from([16, 32, 128]), st.booleans())
def test_the_engine_never_reserves_less_than_must_be_kept(
    config: dict[str, Any], context: int, block_size: int, hybrid_manager: bool
) -> None:
    spec = kv_spec(config)
    reservation = reserve(spec, VllmOptions(block_size=block_size, hybrid_manager=hybrid_manager))
    assert reservation.reserved_bytes(context) >= spec.kept_bytes(context)


@given(MODELS, CONTEXTS)
def test_growth_is_the_bytes_per_token_once_the_windows_are_full(name: str, context: int) -> None:
    spec = kv_spec(public_models()[name])
    longest = context + max((layer.window or 0 for layer in spec.layers), default=0)
    assert spec.kept_bytes(longest + 1) - spec.kept_bytes(longest) == spec.bytes_per_token


@given(MODELS, CONTEXTS)
def test_reserved_covers_kept_for_every_public_model(name: str, context: int) -> None:
    spec = kv_spec(public_models()[name])
    assert reserve(spec).reserved_bytes(context) >= spec.kept_bytes(context)


@given(MODELS)
def test_sizes_are_whole_numbers(name: str) -> None:
    spec = kv_spec(public_models()[name])
    assert isinstance(spec.bytes_per_token, int)
    assert isinstance(spec.kept_bytes(1000), int)
    assert isinstance(reserve(spec).reserved_bytes(1000), int)
