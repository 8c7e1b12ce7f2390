"""Two public calculators' formulas, kept to show what they get wrong.

``hidden_size``: 2 x layers x hidden_size, as in KolosalAI's model-memory-calculator (``MEMORY_CALCULATION.md``, version
1.0, 2025-10: "Practical Implementation"). It takes every query head for a KV head.

``kv_heads``: 2 x layers x KV heads x (hidden_size / heads), as in LMCache's kv_cache_calculator (``examples``, read in
2026-11). By name of the model it makes two exceptions, the latent of DeepSeek-V3 and the head_dim of four Qwen3 sizes;
every other model goes through the formula.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtiers.model.config import ModelConfig
from kvtiers.model.dtypes import kv_dtype_named
from kvtiers.model.from_config import kv_spec
from kvtiers.model.vllm import reserve


def hidden_size_formula(config: Mapping[str, Any], element_bytes: float = 2) -> float:
    """Bytes per token by the ``hidden_size`` formula."""
    model = ModelConfig(config)
    return 2 * model.number("layers") * model.number("hidden") * element_bytes


def kv_heads_formula(config: Mapping[str, Any], element_bytes: float = 2) -> float:
    """Bytes per token by the ``kv_heads`` formula; a head_dim that is no whole number stays one."""
    model = ModelConfig(config)
    heads = model.number("heads")
    kv_heads = model.optional("kv_heads") or heads
    return 2 * model.number("layers") * kv_heads * (model.number("hidden") / heads) * element_bytes


@dataclass(frozen=True)
class Comparison:
    """Bytes of KV for one sequence, by each way of counting."""

    hidden_size_bytes: float
    kv_heads_bytes: float
    kept_bytes: int
    reserved_bytes: int


def compare(config: Mapping[str, Any], context_tokens: int) -> Comparison:
    """One row of the table: the two formulas, what must be kept, what vLLM 0.32.0 reserves (its defaults on CUDA)."""
    spec = kv_spec(config)
    element_bytes = kv_dtype_named(spec.kv_dtype).bits / 8
    return Comparison(
        hidden_size_formula(config, element_bytes) * context_tokens,
        kv_heads_formula(config, element_bytes) * context_tokens,
        spec.kept_bytes(context_tokens),
        reserve(spec).reserved_bytes(context_tokens),
    )
