"""What one sequence of a model keeps: every number a fold over its layers."""

from dataclasses import dataclass

from kvtiers.errors import KvtiersError
from kvtiers.model.layers import GROWING, WINDOWED, LayerKind, LayerSpec
from kvtiers.words.message import Message


@dataclass(frozen=True)
class KvSpec:
    """What one sequence of a model keeps.

    Attributes:
        model_type: the language model's, from the config.
        kv_dtype: name of the KV type.
        layers: what each layer keeps, in order; see ``LayerSpec``.
        max_context: longest context the config allows, in tokens; None when it names none.
        warnings: what had to be assumed, and what the numbers leave out.
        dtype_key: the config key that named the KV type, or ``kv_dtype`` when the caller did.
    """

    model_type: str
    kv_dtype: str
    layers: tuple[LayerSpec, ...]
    max_context: int | None
    warnings: tuple[Message, ...]
    dtype_key: str

    @property
    def has_states(self) -> bool:
        """Are there layers that keep a state of fixed size?"""
        return any(layer.kind is LayerKind.STATE for layer in self.layers)

    @property
    def bytes_per_token(self) -> int:
        """Bytes that each further token of a long context adds: layers that drop nothing, one copy of everything."""
        return sum(layer.bytes_per_token() for layer in self.layers if layer.kind in GROWING)

    @property
    def undropped_bytes_per_token(self) -> int:
        """The same with the windowed layers counted too: the growth below every window, or where nothing is dropped."""
        return sum(layer.bytes_per_token() for layer in self.layers if layer.kind in GROWING | WINDOWED)

    @property
    def fixed_bytes_per_sequence(self) -> int:
        """Bytes of each sequence that do not depend on its length: states, and cross-attention at its longest."""
        return sum(layer.fixed_bytes() for layer in self.layers)

    def kept_bytes(self, context_tokens: int, users: int = 1, tp: int = 1) -> int:
        """Bytes that must be kept for ``users`` sequences of ``context_tokens``, over all ranks.

        Windowed layers count up to their window, chunked ones up to their chunk. With more ranks than KV heads the
        copies count too, so tensor parallelism never lowers the sum.

        Raises:
            KvtiersError: for counts below 1, or a ``tp`` the heads cannot be dealt out to.
        """
        for name, value in (("context", context_tokens), ("users", users), ("tp", tp)):
            at_least_one(name, value)
        return users * tp * sum(layer.kept_bytes(context_tokens, tp) for layer in self.layers)

    @property
    def config_keys(self) -> tuple[str, ...]:
        """Every config key that a number came from, in order of use."""
        keys = [key for layer in self.layers for key in layer.keys]
        return tuple(dict.fromkeys([*keys, self.dtype_key]))


def at_least_one(name: str, value: int) -> int:
    """``value`` if it is a whole number of at least 1; the error names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise KvtiersError(f"{name} must be a whole number above 0, got {value!r}")
    return value
