"""How big KV is: read from a model's config.json.

bytes per token = 2 (K and V) x layers x KV heads x head_dim x bytes per element.
Source: the keys of Hugging Face configs as vLLM 0.32.0 reads them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtiers.errors import KvtiersError

ELEMENT_BYTES = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0}
_DTYPE_NAMES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "half": "fp16", "float": "fp32"}


@dataclass(frozen=True)
class KvSpec:
    """What one token of one sequence adds to the KV cache."""

    layers: int
    kv_heads: int
    head_dim: int
    kv_dtype: str

    @property
    def bytes_per_token(self) -> int:
        """Bytes of K and V over all layers for one token."""
        return int(2 * self.layers * self.kv_heads * self.head_dim * ELEMENT_BYTES[self.kv_dtype])


def parse_config(text: str) -> dict[str, Any]:
    """A config.json's text as a mapping.

    Raises:
        KvtiersError: when it is not a JSON object.
    """
    try:
        config = json.loads(text)
    except ValueError as error:
        raise KvtiersError(f"config.json is not valid JSON: {error}") from error
    if not isinstance(config, dict):
        raise KvtiersError(f"config.json must hold a JSON object, got {type(config).__name__}")
    return config


def kv_spec(config: Mapping[str, Any], kv_dtype: str | None = None) -> KvSpec:
    """The KV spec of a model.

    Args:
        config: parsed config.json.
        kv_dtype: one of ELEMENT_BYTES; the model's own dtype when None.

    Raises:
        KvtiersError: naming the key that is missing or absurd.
    """
    layers = _count(config, "num_hidden_layers")
    heads = _count(config, "num_attention_heads")
    kv_heads = heads if config.get("num_key_value_heads") is None else _count(config, "num_key_value_heads")
    # hidden_size / heads is wrong wherever head_dim is given: Qwen3-4B has 2560 / 32 = 80 but 128.
    head_dim = _count(config, "hidden_size") // heads if config.get("head_dim") is None else _count(config, "head_dim")
    return KvSpec(layers, kv_heads, head_dim, kv_dtype or model_dtype(config))


def model_dtype(config: Mapping[str, Any]) -> str:
    """The dtype the config names (``dtype`` or ``torch_dtype``), bf16 when it names none."""
    name = config.get("dtype") or config.get("torch_dtype") or "bfloat16"
    return _DTYPE_NAMES.get(str(name), str(name))


def _count(config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise KvtiersError(f"config.json: {key} must be a whole number above 0, got {value!r}")
    return value
