"""Public models to pick from: the facts of their config.json that decide the KV cache."""

from functools import cache
from typing import Any

from kvtiers.tables import read_table


@cache
def public_models() -> dict[str, dict[str, Any]]:
    """Configs by model name, as ``kv_spec`` takes them. From ``public_models.toml``, layer lists written out."""
    return {name: _written_out(config) for name, config in read_table("model/public_models.toml").items()}


def _written_out(config: dict[str, Any]) -> dict[str, Any]:
    return {
        key: (_layer_names(value) if "repeat" in value else _written_out(value)) if isinstance(value, dict) else value
        for key, value in config.items()
    }


def _layer_names(shorthand: dict[str, Any]) -> list[str]:
    """``{repeat = 2, of = ["a x2", "b"]}`` is a, a, b, a, a, b."""
    period: list[str] = []
    for item in shorthand["of"]:
        name, _, times = item.partition(" x")
        period += [name] * int(times or 1)
    return period * int(shorthand["repeat"])
