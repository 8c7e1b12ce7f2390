"""Public models to pick from: the facts of their config.json that decide the KV cache."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def public_models() -> dict[str, dict[str, Any]]:
    """Configs by model name, as ``kv_spec`` takes them. From ``public_models.toml``, layer lists written out."""
    text = files(__package__).joinpath("public_models.toml").read_text(encoding="utf-8")
    return {name: _written_out(config) for name, config in tomllib.loads(text).items()}


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
