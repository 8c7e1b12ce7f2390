"""config.json of each preset's model, for tests that have no hub."""

import tomllib
from pathlib import Path
from typing import Any

_TABLE = tomllib.loads(Path(__file__).with_name("configs.toml").read_text(encoding="utf-8"))


def config(model: str) -> dict[str, Any]:
    """Of a Hugging Face id."""
    return dict(_TABLE["common"] | _TABLE[model])
