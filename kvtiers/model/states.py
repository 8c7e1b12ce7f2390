"""States of fixed size: what linear attention, state spaces and short convolutions keep per sequence and layer.

Shapes as in vLLM 0.32.0 (``mamba_utils``): a convolution keeps its last ``kernel - 1`` inputs, the recurrence one
matrix per head. Convolution inputs have the model's type; the recurrent state has its own.
"""

from kvtiers.errors import KvtiersError
from kvtiers.model.config import ModelConfig
from kvtiers.model.layers import Pieces, Recurrence

StateParts = tuple[tuple[Pieces, ...], tuple[str, ...]]


def state_parts(config: ModelConfig, conv_bytes: int, state_bytes: int) -> tuple[Recurrence, StateParts]:
    """What one layer's state is, its parts, and the config keys they came from.

    Args:
        config: the model.
        conv_bytes: bytes of one convolution input.
        state_bytes: bytes of one element of the recurrent state.

    Raises:
        KvtiersError: when the config names such layers but not their sizes.
    """
    for field, (recurrence, read) in _READERS.items():
        if config.optional(field) is not None:
            return recurrence, read(config, conv_bytes, state_bytes)
    raise KvtiersError(
        "config.json: linear-attention or state-space layers, but no known key for their state's size "
        "(linear_num_value_heads, mamba_num_heads, mamba_d_state, conv_L_cache, …)"
    )


def _gated_delta_net(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    k_dim, v_dim = config.number("linear_k_dim"), config.number("linear_v_dim")
    k_heads, v_heads = config.number("linear_k_heads"), config.number("linear_v_heads")
    history = (config.number("linear_conv") - 1) * conv_bytes
    parts = (
        Pieces(k_heads, 2 * k_dim * history),  # queries and keys
        Pieces(v_heads, v_dim * history + v_dim * k_dim * state_bytes),
    )
    return parts, config.keys("linear_k_heads", "linear_v_heads", "linear_k_dim", "linear_v_dim", "linear_conv")


def _delta_attention(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    """Kimi Delta Attention: three convolutions, and a recurrence kept in fp32 (vLLM 0.32.0)."""
    dim = config.number("kda_dim")
    history = (config.number("kda_conv") - 1) * conv_bytes
    parts = (Pieces(config.number("kda_heads"), 3 * dim * history + dim * dim * 4),)
    return parts, config.keys("kda_heads", "kda_dim", "kda_conv")


def _mamba2(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    heads = config.number("ssm_heads")
    inner = config.optional("ssm_inner")
    if config.value("mamba_d_head") == "auto":
        head_dim = config.number("ssm_expand") * config.number("hidden") // heads
        dim_keys: tuple[str, ...] = ("ssm_expand", "hidden")
    else:
        head_dim, dim_keys = config.number("ssm_head_dim"), ("ssm_head_dim",)
    state = config.number("ssm_state")
    history = (config.number("ssm_conv") - 1) * conv_bytes
    per_head = (inner // heads if inner is not None else head_dim) * history
    parts = (
        Pieces(heads, per_head + head_dim * state * state_bytes),
        Pieces(config.optional("ssm_groups") or 1, 2 * state * history),  # B and C, shared by a group of heads
    )
    return parts, config.keys("ssm_heads", *dim_keys, "ssm_groups", "ssm_state", "ssm_conv")


def _mamba1(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    channels = config.number("ssm_expand") * config.number("hidden")
    channel_bytes = (config.number("ssm_conv") - 1) * conv_bytes + config.number("ssm_state") * state_bytes
    return (Pieces(channels, channel_bytes),), config.keys("ssm_expand", "hidden", "ssm_conv", "ssm_state")


def _short_convolution(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    channels = config.optional("short_conv_dim") or config.number("hidden")
    parts = (Pieces(channels, (config.number("short_conv") - 1) * conv_bytes),)
    return parts, config.keys("short_conv", "short_conv_dim", "hidden")


def _linear_recurrent_unit(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    channel_bytes = (config.number("lru_conv") - 1) * conv_bytes + state_bytes
    return (Pieces(config.number("lru_width"), channel_bytes),), config.keys("lru_width", "lru_conv")


def _lightning_attention(config: ModelConfig, conv_bytes: int, state_bytes: int) -> StateParts:
    """MiniMax-01: one matrix of head_dim x head_dim per head."""
    dim = config.number("head_dim")
    return (Pieces(config.number("heads"), dim * dim * state_bytes),), config.keys("heads", "head_dim")


# By the field that gives each away, most specific first.
_READERS = {
    "linear_v_heads": (Recurrence.GATED_DELTA_NET, _gated_delta_net),
    "kda_heads": (Recurrence.DELTA_ATTENTION, _delta_attention),
    "short_conv": (Recurrence.SHORT_CONVOLUTION, _short_convolution),
    "lru_width": (Recurrence.LINEAR_RECURRENT_UNIT, _linear_recurrent_unit),
    "ssm_heads": (Recurrence.MAMBA2, _mamba2),
    "ssm_state": (Recurrence.MAMBA1, _mamba1),
    "head_dim": (Recurrence.LIGHTNING_ATTENTION, _lightning_attention),
}
