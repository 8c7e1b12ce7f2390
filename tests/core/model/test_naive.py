"""The two public formulas: reproduced as published, and how far off they are."""

import pytest

from kvtiers.model.naive import compare, hidden_size_formula, kv_heads_formula
from kvtiers.model.public import public_models


def test_kolosals_worked_example() -> None:
    """Layers 32, hidden size 4096, 8,192 tokens at 4 bytes per K and V: 4,294,967,296 bytes."""
    config = {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32}
    assert hidden_size_formula(config) * 8192 == 4_294_967_296


def test_qwen3_4b_with_a_head_dim_of_80() -> None:
    """LMCache issue 688: 2560 / 32 = 80, but the config says 128."""
    assert kv_heads_formula(public_models()["Qwen3-4B"]) == 2 * 36 * 8 * 80 * 2


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("Llama-3.1-8B", 1.0),
        ("Qwen3-4B", 0.625),  # too low, the dangerous direction
        ("GLM-4.5", 0.417),
        ("DeepSeek-V3", 24.9),
        ("Qwen3.5-27B", 3.11),
        ("Jamba-v0.1", 7.9),
    ],
)
def test_the_kv_heads_formula_is_off_by_this_much(name: str, factor: float) -> None:
    row = compare(public_models()[name], context_tokens=32_768)
    assert row.kv_heads_bytes / row.kept_bytes == pytest.approx(factor, rel=0.02)


def test_the_table_has_all_four_columns() -> None:
    row = compare(public_models()["gpt-oss-120b"], context_tokens=32_768)
    assert row.hidden_size_bytes > row.reserved_bytes > row.kept_bytes > 0
