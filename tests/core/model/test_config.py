"""Reading configs: names, nesting, KV types, and errors that name the key."""

from typing import Any

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.model import KV_DTYPES, LayerKind, kv_spec, parse_config, read_config
from kvtiers.model.public import public_models

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_hidden_layers": -32}, "num_hidden_layers"),
        ({"num_hidden_layers": "32"}, "num_hidden_layers"),
        ({"num_hidden_layers": 32.0}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"num_attention_heads": None}, "num_attention_heads"),
        ({"num_key_value_heads": 5}, "num_key_value_heads"),
        ({"num_key_value_heads": 64}, "num_key_value_heads"),
        ({"num_key_value_heads": [8, 8]}, "num_key_value_heads"),
        ({"head_dim": "128"}, "head_dim"),
        ({"head_dim": 10**7}, "head_dim"),
        ({"hidden_size": 4097}, "hidden_size"),
        ({"hidden_size": None}, "hidden_size"),
        ({"sliding_window": "4k"}, "sliding_window"),
        ({"use_sliding_window": "no"}, "use_sliding_window"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": "full_attention"}, "layer_types"),
        ({"layer_types": ["sliding_attention"] * 32}, "sliding_window"),
        ({"layer_types": ["linear_attention"] * 32, "head_dim": None}, "linear_num_value_heads"),
        ({"hybrid_override_pattern": "M?"}, "hybrid_override_pattern"),
        ({"attn_layer_indices": [99]}, "attn_layer_indices"),
        ({"full_attention_interval": 0}, "full_attention_interval"),
        ({"attn_layer_period": 0}, "attn_layer_period"),
        ({"num_kv_shared_layers": 32}, "num_kv_shared_layers"),
        ({"kv_lora_rank": 512}, "qk_rope_head_dim"),
        ({"torch_dtype": "int3"}, "torch_dtype"),
        ({"torch_dtype": 16}, "torch_dtype"),
        ({"text_config": 7}, "text_config"),
        ({"cross_attention_layers": [40]}, "cross_attention_layers"),
    ],
)
def test_absurd_values_are_refused_by_key(change: dict[str, Any], named: str) -> None:
    with pytest.raises(KvtiersError, match=named):
        kv_spec(LLAMA | change)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(KvtiersError, match="num_hidden_layers"):
        kv_spec({"model_type": "llama"})


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"llama"'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(KvtiersError, match=r"config\.json"):
        parse_config(text)


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(KvtiersError, match=r"nowhere\.json"):
        read_config("nowhere.json")


def test_an_unknown_kv_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KvtiersError, match=r"kv_dtype.*fp8"):
        kv_spec(LLAMA, "fp7")


@pytest.mark.parametrize("outer", ["text_config", "language_config", "llm_config"])
def test_the_language_model_is_found_inside_a_multimodal_config(outer: str) -> None:
    nested = {"model_type": "some_vl", "num_hidden_layers": 2, outer: LLAMA, "vision_config": {"hidden_size": 3}}
    spec = kv_spec(nested)
    assert spec.bytes_per_token == 131_072
    assert f"{outer}.num_key_value_heads" in spec.config_keys


def test_nesting_goes_two_deep() -> None:
    assert kv_spec({"thinker_config": {"text_config": LLAMA}}).bytes_per_token == 131_072


def test_an_unknown_model_type_gets_the_generic_formula_and_a_warning() -> None:
    spec = kv_spec(LLAMA | {"model_type": "brand_new"})
    assert spec.bytes_per_token == 131_072
    assert any("brand_new" in warning.text() for warning in spec.warnings)


def test_a_wrappers_name_stands_for_the_language_model_inside() -> None:
    inner = {"hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}
    assert kv_spec({"model_type": "gemma3", "text_config": inner}).bytes_per_token == 20_480


def test_a_known_model_type_has_no_warning() -> None:
    assert kv_spec(LLAMA).warnings == ()


def test_an_unknown_layer_type_is_counted_full_and_warned_about() -> None:
    spec = kv_spec(LLAMA | {"layer_types": ["full_attention"] * 31 + ["psychic_attention"]})
    assert spec.bytes_per_token == 131_072
    assert any("psychic_attention" in warning.text() for warning in spec.warnings)


def test_class_defaults_are_told() -> None:
    warnings = kv_spec(public_models()["Gemma-3-4B"]).warnings
    assert any("num_attention_heads" in warning.text() and "gemma3_text" in warning.text() for warning in warnings)


@pytest.mark.parametrize(
    ("config", "bytes_per_token"),
    [
        ({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_layer": 40, "multi_query": True}, 40 * 512),
        ({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_layer": 40, "multi_query": False}, 40 * 24_576),
        ({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
          "attn_config": {"kv_n_heads": 8}}, 163_840),
        ({"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128, "num_hidden_layers": 60,
          "num_kv_heads": 8, "multi_query": True, "new_decoder_architecture": True}, 60 * 2048),
        (LLAMA | {"num_key_value_heads": None}, 4 * 131_072),
    ],
    ids=["multi-query", "multi-head", "dbrx", "falcon-40b", "null kv heads"],
)  # fmt: skip
def test_families_name_things_differently(config: dict[str, Any], bytes_per_token: int) -> None:
    assert kv_spec({"torch_dtype": "bfloat16"} | config).bytes_per_token == bytes_per_token


def test_a_window_of_zero_is_no_window() -> None:
    assert kv_spec(LLAMA | {"sliding_window": 0}).bytes_per_token == 131_072


def test_draft_layers_are_counted_when_asked_for() -> None:
    config = public_models()["DeepSeek-V3"]
    assert kv_spec(config, draft_layers=True).bytes_per_token == 62 * 1152
    assert any("num_nextn_predict_layers" in warning.text() for warning in kv_spec(config).warnings)


def test_shared_layers_name_the_layer_they_read() -> None:
    layers = kv_spec(public_models()["Gemma-3n-E4B"]).layers
    assert {layer.shares_with for layer in layers if layer.kind is LayerKind.SHARED} == {18, 19}


@pytest.mark.parametrize(
    ("kv_dtype", "vector_bytes"),
    [("fp32", 512), ("fp16", 256), ("bf16", 256), ("fp8", 128), ("fp8_e4m3", 128), ("fp8_e5m2", 128), ("int8", 128),
     ("fp8_per_token_head", 132), ("int8_per_token_head", 132), ("int4_per_token_head", 68), ("nvfp4", 72),
     ("q8_0", 136), ("q4_0", 72), ("q4_1", 80)],
)  # fmt: skip
def test_scales_count(kv_dtype: str, vector_bytes: int) -> None:
    assert KV_DTYPES[kv_dtype].vector_bytes(128) == vector_bytes
    assert kv_spec(LLAMA, kv_dtype).bytes_per_token == 32 * 8 * 2 * vector_bytes


@pytest.mark.parametrize(
    "quantization",
    [
        {"kv_cache_scheme": {"type": "float", "num_bits": 8}},
        {"kv_cache_quant_algo": "FP8"},
        {"quantization": {"kv_cache_quant_algo": "FP8"}},
    ],
)
def test_a_checkpoint_may_ask_for_fp8_kv(quantization: dict[str, Any]) -> None:
    spec = kv_spec(LLAMA | {"quantization_config": quantization})
    assert (spec.kv_dtype, spec.bytes_per_token) == ("fp8", 65_536)


def test_an_assumed_type_is_told_unless_the_caller_names_one() -> None:
    config = public_models()["GPT-2"]
    assert any("bf16 assumed" in warning.text() for warning in kv_spec(config).warnings)
    assert kv_spec(config, "fp16").warnings == ()


def test_deepseek_packed_kv_is_656_bytes_and_not_half() -> None:
    assert kv_spec(public_models()["DeepSeek-V3"], "fp8_ds_mla").bytes_per_token == 61 * 656


def test_packed_kv_is_refused_where_it_does_not_fit() -> None:
    with pytest.raises(KvtiersError, match="fp8_ds_mla"):
        kv_spec(LLAMA, "fp8_ds_mla")


def test_windowed_layers_keep_no_more_than_their_window() -> None:
    spec = kv_spec(public_models()["gpt-oss-120b"])
    assert spec.kept_bytes(100) == 100 * 73_728
    assert spec.kept_bytes(10_000) == 10_000 * 36_864 + 128 * 36_864


@pytest.mark.parametrize(("name", "arguments"), [("context", (0,)), ("users", (1, 0)), ("tp", (1, 1, 0))])
def test_counts_below_one_are_named(name: str, arguments: tuple[int, ...]) -> None:
    with pytest.raises(KvtiersError, match=name):
        kv_spec(LLAMA).kept_bytes(*arguments)
