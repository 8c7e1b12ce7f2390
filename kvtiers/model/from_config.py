"""From a config.json to a ``KvSpec``."""

from collections.abc import Mapping
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.model.build import LayerBuilder
from kvtiers.model.config import ModelConfig
from kvtiers.model.dtypes import KV_DTYPES, KvDtype, kv_dtype_named
from kvtiers.model.spec import KvSpec

_KV_QUANTIZATION_KEYS = (
    "quantization_config.kv_cache_scheme",
    "quantization_config.kv_cache_quant_algo",
    "quantization_config.quantization.kv_cache_quant_algo",
)
_NO_DTYPE = "dtype (bf16 assumed)"


def kv_spec(
    config: Mapping[str, Any],
    kv_dtype: str | None = None,
    *,
    draft_layers: bool = False,
    state_dtype: str | None = None,
) -> KvSpec:
    """The KV spec of a model.

    Args:
        config: parsed config.json, the language model nested or not.
        kv_dtype: one of ``KV_DTYPES``; when None what the config asks for: its KV quantization's, else its weights'
            (``dtype``, ``torch_dtype``), bf16 when it names none.
        draft_layers: count the multi-token-prediction layers too, as speculative decoding with them does.
        state_dtype: type of recurrent states; vLLM 0.32.0's choice for the family when None.

    Raises:
        KvtiersError: naming the key that is missing or absurd, or the argument that is unknown.
    """
    model = ModelConfig(config)
    if not model.known:
        model.warn("unknown_type", model_type=model.model_type)
    if kv_dtype is None:
        dtype, dtype_key = _config_kv_dtype(model)
    else:
        dtype, dtype_key = kv_dtype_named(kv_dtype), "kv_dtype"
    builder = LayerBuilder(model, dtype, _weights_dtype(model)[0], state_dtype)
    has_encoder = model.flag("is_encoder_decoder") or model.family.encoder_decoder
    layers = builder.encoder_decoder() if has_encoder else builder.decoder(draft_layers)
    if model.optional("draft_layers") is not None and not draft_layers:
        model.warn("draft_left_out", key=model.key("draft_layers"))
    return KvSpec(
        model_type=model.model_type,
        kv_dtype=dtype.name,
        layers=tuple(layers),
        max_context=model.optional("max_context"),
        warnings=tuple(model.warnings),
        dtype_key=dtype_key,
    )


def _config_kv_dtype(model: ModelConfig) -> tuple[KvDtype, str]:
    """The KV type and the key it came from; vLLM 0.32.0 reads the quantization keys under ``auto``."""
    for key in _KV_QUANTIZATION_KEYS:
        scheme = model.value(key)
        eight_bit = isinstance(scheme, Mapping) and (scheme.get("type"), scheme.get("num_bits")) == ("float", 8)
        if eight_bit or (isinstance(scheme, str) and scheme.lower() == "fp8"):
            return KV_DTYPES["fp8"], model.path(key)
    dtype, key = _weights_dtype(model)
    if key == _NO_DTYPE:
        model.warn("no_dtype")
    if dtype.name == "fp32":
        model.warn("float32", key=key)
    return dtype, key


def _weights_dtype(model: ModelConfig) -> tuple[KvDtype, str]:
    for key in ("dtype", "torch_dtype"):
        name = model.value(key)
        if name is None or name == "auto":
            continue
        if not isinstance(name, str):
            raise KvtiersError(f"config.json: {model.path(key)} must be the name of a type, got {name!r}")
        return kv_dtype_named(name, f"config.json: {model.path(key)}"), model.path(key)
    return KV_DTYPES["bf16"], _NO_DTYPE
