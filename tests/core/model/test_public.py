"""Every public model's size against the sum worked out by hand."""

import tomllib
from pathlib import Path

import pytest

from kvtiers.model import kv_spec
from kvtiers.model.public import public_models

EXPECTED = tomllib.loads((Path(__file__).parents[1] / "data" / "public_model_sizes.toml").read_text(encoding="utf-8"))


def test_every_public_model_has_a_hand_worked_size() -> None:
    assert set(EXPECTED) == set(public_models())
    assert len(EXPECTED) >= 30


@pytest.mark.parametrize("name", EXPECTED)
def test_size_is_the_hand_worked_one(name: str) -> None:
    spec = kv_spec(public_models()[name])
    expected = EXPECTED[name]
    assert spec.bytes_per_token == expected["bytes_per_token"]
    assert spec.undropped_bytes_per_token == expected.get("undropped", expected["bytes_per_token"])
    assert spec.fixed_bytes_per_sequence == expected.get("fixed", 0)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_layer_names_the_keys_it_came_from(name: str) -> None:
    assert all(layer.keys for layer in kv_spec(public_models()[name]).layers)
