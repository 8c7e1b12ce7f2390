"""Models the lab knows how to run: presets.toml, or a user's own."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.paths import MODELS

# For CUDA not vLLM's default of 16: with it a GPU hit would prefill another tail than a load from LMCache, whose 1,280
# tokens of 1,330 are full chunks, and answers could differ by rounding alone. Every backend for such models takes 64
# whole.
BLOCK_TOKENS = {"cpu": 128, "cuda": 64}
_HUB_ID = re.compile(r"(?![.~])[^/]+/[^/]+")


@dataclass(frozen=True)
class Preset:
    """A model and the engine it is meant for.

    ``model`` is a directory or a Hugging Face id. ``kv_bytes_per_token`` and ``weight_bytes`` are None and 0 where they
    have to wait for it.
    """

    name: str
    engine: str
    model: str
    dtype: str = "auto"
    kv_bytes_per_token: int | None = None
    about: str = ""
    weight_bytes: int = 0

    @property
    def block_tokens(self) -> int:
        """vLLM's KV block size on that engine."""
        return BLOCK_TOKENS[self.engine]


PRESETS = {
    name: Preset(**{"name": name, "model": str(MODELS / name), **known})
    for name, known in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
DEFAULT_PRESET = {"cpu": "tiny", "cuda": "qwen3-4b-awq"}


def choose_preset(preset: str | None, model: str | None, engine: str) -> Preset:
    """The preset to run: a named one, the engine's default, or one made up for ``--model PATH_OR_ID``.

    Raises:
        LabError: for an unknown name, a preset of the other engine, or a model directory without config.json.
    """
    if model is None:
        return _named(preset or DEFAULT_PRESET[engine], engine)
    if preset is not None:
        raise LabError("--preset and --model exclude each other: a preset is a model")
    path = Path(model).expanduser()
    if path.exists() and not (path / "config.json").is_file():
        raise LabError(f"{model} has no config.json: give the directory of a Hugging Face model")
    if not path.exists() and not _HUB_ID.fullmatch(model):
        raise LabError(f"{model} is neither a directory nor an id such as Qwen/Qwen3-0.6B")
    return Preset(path.name, engine, str(path.resolve()) if path.exists() else model)


def _named(name: str, engine: str) -> Preset:
    if name not in PRESETS:
        raise LabError(f"no preset {name!r}; there are {', '.join(PRESETS)} (python -m lab models)")
    if PRESETS[name].engine != engine:
        raise LabError(f"preset {name} is for --engine {PRESETS[name].engine}, not {engine}")
    return PRESETS[name]
