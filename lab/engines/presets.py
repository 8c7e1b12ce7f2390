"""Models the lab knows how to run."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtiers.model import read_config
from kvtiers.units import KIB
from lab.errors import LabError
from lab.paths import MODELS, engine_python


@dataclass(frozen=True)
class Preset:
    """A model and the engine it is meant for.

    ``model`` is a directory or a Hugging Face id, ``block_tokens`` vLLM's KV block size on that engine,
    ``kv_bytes_per_token`` known before the model is there (None: read its config.json).
    """

    name: str
    engine: str
    model: str
    dtype: str
    block_tokens: int
    kv_bytes_per_token: int | None
    about: str


CPU_BLOCK_TOKENS = 128
CUDA_BLOCK_TOKENS = 16

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "tiny",
            "cpu",
            str(MODELS / "tiny"),
            "float32",
            CPU_BLOCK_TOKENS,
            16 * KIB,
            "27M parameters, Qwen3-shaped, seeded random weights; made here, nothing to download",
        ),
        Preset("qwen3-0.6b", "cuda", "Qwen/Qwen3-0.6B", "auto", CUDA_BLOCK_TOKENS, 112 * KIB, "bf16"),
        Preset("qwen3-1.7b-fp8", "cuda", "Qwen/Qwen3-1.7B-FP8", "auto", CUDA_BLOCK_TOKENS, 112 * KIB, "fp8 weights"),
        Preset("qwen3-4b-awq", "cuda", "Qwen/Qwen3-4B-AWQ", "auto", CUDA_BLOCK_TOKENS, 144 * KIB, "int4 weights"),
    )
}
DEFAULT_PRESET = {"cpu": "tiny", "cuda": "qwen3-4b-awq"}


def choose(preset: str | None, model: str | None, engine: str) -> Preset:
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
    if not path.exists() and not _looks_like_hub_id(model):
        raise LabError(f"{model} is neither a directory nor an id such as Qwen/Qwen3-0.6B")
    block_tokens = CPU_BLOCK_TOKENS if engine == "cpu" else CUDA_BLOCK_TOKENS
    return Preset(path.name, engine, str(path.resolve()) if path.exists() else model, "auto", block_tokens, None, "")


def preset_config(preset: Preset) -> dict[str, Any]:
    """The model's config.json; for a Hugging Face id the engine's own hub client finds or downloads it.

    Raises:
        LabError: when it is not to be had.
        KvtiersError: when it is no config.
    """
    path = Path(preset.model)
    if not path.is_absolute():
        path = _hub_directory(preset)
    return read_config(str(path))


def _hub_directory(preset: Preset) -> Path:
    ask = f"from huggingface_hub import hf_hub_download; print(hf_hub_download({preset.model!r}, 'config.json'))"
    answer = subprocess.run([engine_python(preset.engine), "-c", ask], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = answer.stderr.strip().splitlines()[-1:]
        raise LabError(f"cannot get the config of {preset.model}: {' '.join(reason)}")
    return Path(answer.stdout.strip()).parent


def _named(name: str, engine: str) -> Preset:
    if name not in PRESETS:
        raise LabError(f"no preset {name!r}; there are {', '.join(PRESETS)} (python -m lab models)")
    if PRESETS[name].engine != engine:
        raise LabError(f"preset {name} is for --engine {PRESETS[name].engine}, not {engine}")
    return PRESETS[name]


def _looks_like_hub_id(model: str) -> bool:
    parts = model.split("/")
    return len(parts) == 2 and all(parts) and not model.startswith((".", "~"))
