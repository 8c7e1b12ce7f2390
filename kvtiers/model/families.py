"""What families call things, read from families.toml beside this file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtiers.model.layers import LayerKind
from kvtiers.tables import read_table

Kinds = tuple[LayerKind, ...]
"""What one layer keeps: it may have two caches."""


@dataclass(frozen=True)
class Field:
    """A number under any of several keys; above ``maximum`` it is surely a mistake, and 0 may mean none."""

    keys: list[str]
    maximum: int
    zero_is_none: bool = False


@dataclass(frozen=True)
class Family:
    """A model type: what its class assumes when the config is silent, and where it departs from the plain reading.

    Attributes:
        defaults: values by field name, as the transformers class sets them.
        layer_plan: name of the plan in ``patterns`` that no config key announces.
        attentions_per_layer: attention modules in each layer.
        expands_latent: keeps K and V of every head although it has a latent (vLLM 0.32.0).
        window_extra: tokens the engine adds to the window.
        state_dtype: type of the recurrent state when the config names none; the model's when None.
        encoder_decoder: has an encoder even where the config omits ``is_encoder_decoder``.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    layer_plan: str | None = None
    attentions_per_layer: int = 1
    expands_latent: bool = False
    window_extra: int = 0
    state_dtype: str | None = None
    encoder_decoder: bool = False


_TABLE = read_table("model/families.toml")
FIELDS = {name: Field(**entry) for name, entry in _TABLE["fields"].items()}
LAYER_NAMES: dict[str, Kinds] = {name: tuple(map(LayerKind, kinds)) for name, kinds in _TABLE["layer_names"].items()}
DTYPE_NAMES: dict[str, str] = _TABLE["dtype_names"]
NOT_SERVED = frozenset(_TABLE["not_served"])
FAMILIES = {name: Family() for name in (*_TABLE["plain"], *_TABLE["not_served"])} | {
    name: Family(**entry) for name, entry in _TABLE["families"].items()
}
