"""Models the lab knows how to run."""

from dataclasses import dataclass
from pathlib import Path

from kvtiers.units import KIB
from lab.errors import LabError
from lab.paths import MODELS


@dataclass(frozen=True)
class Preset:
    """A model and the engine it is meant for.

    ``model`` is a directory or a Hugging Face id, ``block_tokens`` vLLM's KV block size on that engine.
    ``kv_bytes_per_token`` and ``weight_bytes`` are known before the model is there, by arithmetic on its config.json;
    None and 0 where they have to wait for it.
    """

    name: str
    engine: str
    model: str
    dtype: str
    block_tokens: int
    kv_bytes_per_token: int | None
    about: str
    weight_bytes: int = 0


CPU_BLOCK_TOKENS = 128
# Not vLLM's default of 16: with it a GPU hit would prefill another tail than a load from LMCache, whose 1,280 tokens of
# 1,330 are full chunks, and answers could differ by rounding alone. Every backend for such models takes 64 whole.
CUDA_BLOCK_TOKENS = 64

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
        Preset(
            "qwen3-0.6b-cpu",
            "cpu",
            "Qwen/Qwen3-0.6B",
            "float32",
            CPU_BLOCK_TOKENS,
            224 * KIB,
            "a real model; 1.5 GB to download",
            2_380_000_000,
        ),
        Preset("qwen3-0.6b", "cuda", "Qwen/Qwen3-0.6B", "auto", CUDA_BLOCK_TOKENS, 112 * KIB, "bf16", 1_190_000_000),
        Preset(
            "qwen3-1.7b-fp8",
            "cuda",
            "Qwen/Qwen3-1.7B-FP8",
            "auto",
            CUDA_BLOCK_TOKENS,
            112 * KIB,
            "fp8 weights",
            2_030_000_000,
        ),
        Preset(
            "qwen3-4b-awq",
            "cuda",
            "Qwen/Qwen3-4B-AWQ",
            "auto",
            CUDA_BLOCK_TOKENS,
            144 * KIB,
            "int4 weights",
            2_710_000_000,
        ),
        Preset(
            "qwen3-8b-fp8",
            "cuda",
            "Qwen/Qwen3-8B-FP8",
            "auto",
            CUDA_BLOCK_TOKENS,
            144 * KIB,
            "fp8 weights",
            9_440_000_000,
        ),
        Preset(
            "qwen3-14b-fp8",
            "cuda",
            "Qwen/Qwen3-14B-FP8",
            "auto",
            CUDA_BLOCK_TOKENS,
            160 * KIB,
            "fp8 weights",
            16_320_000_000,
        ),
        Preset(
            "qwen3-32b-fp8",
            "cuda",
            "Qwen/Qwen3-32B-FP8",
            "auto",
            CUDA_BLOCK_TOKENS,
            256 * KIB,
            "fp8 weights",
            34_320_000_000,
        ),
    )
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
    if not path.exists() and not _looks_like_hub_id(model):
        raise LabError(f"{model} is neither a directory nor an id such as Qwen/Qwen3-0.6B")
    block_tokens = CPU_BLOCK_TOKENS if engine == "cpu" else CUDA_BLOCK_TOKENS
    return Preset(path.name, engine, str(path.resolve()) if path.exists() else model, "auto", block_tokens, None, "")


def _named(name: str, engine: str) -> Preset:
    if name not in PRESETS:
        raise LabError(f"no preset {name!r}; there are {', '.join(PRESETS)} (python -m lab models)")
    if PRESETS[name].engine != engine:
        raise LabError(f"preset {name} is for --engine {PRESETS[name].engine}, not {engine}")
    return PRESETS[name]


def _looks_like_hub_id(model: str) -> bool:
    parts = model.split("/")
    return len(parts) == 2 and all(parts) and not model.startswith((".", "~"))
