"""One layer's share of the KV cache, and what tensor parallelism makes of it."""

from dataclasses import dataclass
from enum import StrEnum

from kvtiers.errors import KvtiersError


class LayerKind(StrEnum):
    """How a layer keeps what it has seen."""

    FULL = "full"  # K and V of every token
    SLIDING = "sliding"  # K and V of the last `window` tokens
    CHUNKED = "chunked"  # K and V of the current chunk of `window` tokens
    MLA = "mla"  # one latent vector per token, for all heads
    INDEXER = "indexer"  # the keys by which sparse attention picks tokens
    STATE = "state"  # a state of fixed size: linear attention, state space, convolution
    CROSS = "cross"  # K and V of the encoder's or the image's tokens, computed once
    SHARED = "shared"  # reads another layer's KV
    NONE = "none"  # keeps nothing


class Recurrence(StrEnum):
    """What kind of state a layer keeps."""

    GATED_DELTA_NET = "gated_delta_net"
    DELTA_ATTENTION = "delta_attention"
    SHORT_CONVOLUTION = "short_convolution"
    LINEAR_RECURRENT_UNIT = "linear_recurrent_unit"
    MAMBA2 = "mamba2"
    MAMBA1 = "mamba1"
    LIGHTNING_ATTENTION = "lightning_attention"


GROWING = frozenset({LayerKind.FULL, LayerKind.MLA, LayerKind.INDEXER})
WINDOWED = frozenset({LayerKind.SLIDING, LayerKind.CHUNKED})


@dataclass(frozen=True)
class Pieces:
    """``count`` equal pieces of ``piece_bytes``: KV heads, SSM heads, channels.

    Tensor parallelism deals whole pieces out to the ranks; with fewer pieces than ranks each rank holds a copy of one.
    """

    count: int
    piece_bytes: int

    def rank_bytes(self, tp: int = 1) -> int:
        """Bytes on one of ``tp`` ranks; where neither number divides the other no engine can serve it: refused."""
        if self.count % tp and tp % self.count:
            raise KvtiersError(f"tp={tp} cannot split {self.count} heads: neither number divides the other")
        return max(1, self.count // tp) * self.piece_bytes


@dataclass(frozen=True)
class LayerSpec:
    """What one layer keeps per sequence.

    A layer with two caches (attention beside a state space, a latent beside an indexer) is two specs of one ``index``.

    Attributes:
        index: the layer, from 0.
        kind: how it keeps tokens.
        keys: the config keys its numbers came from.
        token_parts: bytes kept for each token (of the text, or of the source for ``CROSS``).
        fixed_parts: bytes kept per sequence, however long.
        window: tokens a ``SLIDING`` or ``CHUNKED`` layer looks back on.
        source_tokens: encoder or image tokens of a ``CROSS`` layer, at most.
        shares_with: the layer whose KV a ``SHARED`` layer reads.
        recurrence: what a ``STATE`` layer's state is.
        draft: belongs to a multi-token-prediction module.
    """

    index: int
    kind: LayerKind
    keys: tuple[str, ...] = ()
    token_parts: tuple[Pieces, ...] = ()
    fixed_parts: tuple[Pieces, ...] = ()
    window: int | None = None
    source_tokens: int = 0
    shares_with: int | None = None
    recurrence: Recurrence | None = None
    draft: bool = False

    def bytes_per_token(self, tp: int = 1) -> int:
        """Bytes per kept token on one of ``tp`` ranks."""
        return sum(part.rank_bytes(tp) for part in self.token_parts)

    def fixed_bytes(self, tp: int = 1) -> int:
        """Bytes per sequence that no token adds to, on one of ``tp`` ranks."""
        source_bytes = self.source_tokens * self.bytes_per_token(tp)
        return source_bytes + sum(part.rank_bytes(tp) for part in self.fixed_parts)

    def kept_bytes(self, context_tokens: int, tp: int = 1) -> int:
        """Bytes that must be kept for one sequence of ``context_tokens`` on one of ``tp`` ranks."""
        within = context_tokens if self.kind in GROWING else 0
        kept_tokens = min(context_tokens, self.window or 0) if self.kind in WINDOWED else within
        return kept_tokens * self.bytes_per_token(tp) + self.fixed_bytes(tp)
