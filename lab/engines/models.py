"""A preset's model: made here, a directory, or brought from Hugging Face before anything starts."""

import json
import os
import subprocess
from pathlib import Path
from subprocess import PIPE
from typing import Any

from kvtiers.model import read_config
from lab.engines.presets import Preset
from lab.errors import LabError
from lab.paths import ENGINES, engine_python
from progress import add_bar, bars, say

_MB = 10**6


def bring(preset: Preset) -> Path:
    """Make or fetch what is not there yet. Returns the model's directory.

    Raises:
        LabError: with what to do.
    """
    path = Path(preset.model)
    if not path.is_absolute():
        return _fetch(preset)
    if path.name == "tiny" and not (path / "made.json").is_file():
        say("making the embedded model (27M parameters, seeded)")
        make(path)
    return path


def preset_config(preset: Preset, directory: Path | None = None) -> dict[str, Any]:
    """The config.json in the model's ``directory``, computed in the preset's type; without one, of a Hugging Face id
    nothing else is fetched.

    Raises:
        LabError: when it is not to be had.
        KvtiersError: when it is no config.
    """
    path = Path(preset.model)
    directory = directory or (path if path.is_absolute() else _fetch(preset, "config"))
    typed = {} if preset.dtype == "auto" else {"torch_dtype": preset.dtype, "dtype": preset.dtype}
    return read_config(str(directory)) | typed


def weight_bytes(preset: Preset, directory: Path | None) -> int:
    """Weights in memory: as the preset knows them, or the files in the model's ``directory`` where they are larger."""
    files = list(directory.glob("*.safetensors")) if directory else []
    return max(preset.weight_bytes, sum(file.stat().st_size for file in files))


def _fetch(preset: Preset, *what: str) -> Path:
    """By the engine's own hub client, out of its cache where all of it is there."""
    command = [str(engine_python(preset.engine)), str(ENGINES / "fetch_model.py"), preset.model, *what]
    told: dict[str, Any] = {}
    quiet = os.environ | {"DO_NOT_TRACK": "1"}
    with bars() as progress, subprocess.Popen(command, env=quiet, stdout=PIPE, stderr=PIPE, text=True) as fetching:
        bar = None
        assert fetching.stdout is not None
        assert fetching.stderr is not None
        for line in fetching.stdout:
            told = json.loads(line)
            if "bytes" in told:
                bar = bar or add_bar(progress, f"{preset.name}: MB", told["of"] // _MB)
                bar.reach(told["bytes"] // _MB)
        said = fetching.stderr.read().strip().splitlines()[-1:]
    if not told.get("directory"):
        raise LabError(told.get("fault") or f"fetching {preset.model} broke off: {' '.join(said)}")
    return Path(told["directory"])


def make(directory: Path, *seed: int) -> None:
    """The embedded model, there; with another ``seed`` other weights, for the same tokens.

    Raises:
        LabError: when that fails.
    """
    command = [str(engine_python("cpu")), str(ENGINES / "cpu" / "make_model.py"), str(directory), *map(str, seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()[-2:]
        raise LabError(f"making the embedded model failed: {' '.join(lines)}")
