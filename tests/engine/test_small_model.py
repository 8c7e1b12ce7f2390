"""The lab's small model, as the lab made it."""

import json
import math
import struct
from pathlib import Path

import pytest
import yaml

from lab.engines.presets import PRESETS

pytestmark = pytest.mark.engine
LEDGER = Path(__file__).parents[2] / "lessons" / "claims.yaml"


def parameters(weights: Path) -> int:
    """Numbers in a safetensors file, from its header: eight bytes of length, then JSON with every shape."""
    with weights.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        tensors = json.loads(file.read(length))
    return sum(math.prod(tensor["shape"]) for name, tensor in tensors.items() if name != "__metadata__")


def test_it_has_as_many_parameters_as_the_course_says() -> None:
    counted = parameters(Path(PRESETS["tiny"].model) / "model.safetensors")
    assert f"{counted / 1e6:.0f}M" == yaml.safe_load(LEDGER.read_text())["lab-parameters"]["value"]
