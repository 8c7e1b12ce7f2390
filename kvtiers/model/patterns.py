"""Which kind each layer is.

Families say it in many ways: a list of names, a string of letters, a period and an offset, every n-th layer. Each plan
here reads one of them; the first whose key is in the config decides.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvtiers.errors import KvtiersError
from kvtiers.model.config import ModelConfig
from kvtiers.model.layers import LayerKind

Kinds = tuple[LayerKind, ...]

FULL: Kinds = (LayerKind.FULL,)
SLIDING: Kinds = (LayerKind.SLIDING,)
CHUNKED: Kinds = (LayerKind.CHUNKED,)
STATE: Kinds = (LayerKind.STATE,)
BOTH: Kinds = (LayerKind.FULL, LayerKind.STATE)
NOTHING: Kinds = (LayerKind.NONE,)

_NAMES: dict[str, Kinds] = {
    "full_attention": FULL,
    "attention": FULL,
    "sliding_attention": SLIDING,
    "chunked_attention": CHUNKED,
    "linear_attention": STATE,
    "mamba": STATE,
    "mamba2": STATE,
    "recurrent": STATE,
    "conv": STATE,
    "hybrid": BOTH,
    "mlp": NOTHING,
    "moe": NOTHING,
}
_LETTERS: dict[str, Kinds] = {"M": STATE, "*": FULL, "-": NOTHING, "E": NOTHING}


@dataclass(frozen=True)
class LayerPlan:
    """The kinds of each layer's caches, and the config keys that say so."""

    kinds: list[Kinds]
    keys: tuple[str, ...]
    shares_with: dict[int, int]


def layer_plan(config: ModelConfig) -> LayerPlan:
    """The plan of a decoder's layers.

    Raises:
        KvtiersError: when the keys that describe it contradict each other.
    """
    if config.family.layer_plan is not None:
        plan = _FAMILY_PLANS[config.family.layer_plan](config)
    else:
        plan = next(filter(None, (read(config) for read in _PLANS)))
    return _with_sharing(config, plan)


def _plan(config: ModelConfig, kinds: list[Kinds], *keys: str) -> LayerPlan:
    """A plan, checked against the number of layers the config gives elsewhere."""
    layers = config.optional("layers")
    if layers is not None and layers != len(kinds):
        raise KvtiersError(
            f"config.json: {keys[0]} describes {len(kinds)} layers but {config.key('layers')} is {layers}"
        )
    return LayerPlan(kinds, keys, {})


def _from_names(config: ModelConfig) -> LayerPlan | None:
    for key in ("layer_types", "layers_block_type"):
        names = config.strings(key)
        if names is None:
            continue
        for name in sorted(set(names) - set(_NAMES)):
            config.warn("unknown_layer", key=config.path(key), name=name)
        return _plan(config, [_NAMES.get(name, FULL) for name in names], config.path(key))
    return None


def _from_letters(config: ModelConfig) -> LayerPlan | None:
    letters = config.value("hybrid_override_pattern")
    if letters is None:
        return None
    if not isinstance(letters, str) or not letters or set(letters) - set(_LETTERS):
        raise KvtiersError(f"config.json: hybrid_override_pattern must use only M, *, - and E, got {letters!r}")
    return _plan(config, [_LETTERS[letter] for letter in letters], config.path("hybrid_override_pattern"))


def _from_numbers(config: ModelConfig) -> LayerPlan | None:
    """Lists of one number a layer, or of the attention layers' positions."""
    layers = config.optional("layers") or 0
    if (types := config.integers("attn_type_list")) is not None:  # MiniMax: 1 is softmax attention
        return _plan(config, [FULL if kind else STATE for kind in types], config.path("attn_type_list"))
    if (types := config.integers("hybrid_layer_pattern")) is not None:  # MiMo: 1 is sliding
        return _plan(config, [SLIDING if kind else FULL for kind in types], config.path("hybrid_layer_pattern"))
    if (chosen := config.integers("attn_layer_indices")) is not None:  # Bamba
        return _chosen(config, layers, set(chosen), "attn_layer_indices")
    if (chosen := config.integers("linear_attn_config.full_attn_layers")) is not None:  # Kimi Linear counts from 1
        return _chosen(config, layers, {index - 1 for index in chosen}, "linear_attn_config.full_attn_layers")
    return None


def _chosen(config: ModelConfig, layers: int, chosen: set[int], key: str) -> LayerPlan:
    if not all(0 <= index < layers for index in chosen):
        raise KvtiersError(f"config.json: {config.path(key)} names a layer that is not among the {layers}")
    return _plan(config, [FULL if index in chosen else STATE for index in range(layers)], config.path(key))


def _from_period(config: ModelConfig) -> LayerPlan | None:
    """One attention layer in every so many: Jamba's offset, Qwen3-Next's interval, RecurrentGemma's blocks."""
    layers = range(config.optional("layers") or 0)
    if (period := _natural(config, "attn_layer_period", 1)) is not None:
        offset = _natural(config, "attn_layer_offset") or 0
        kinds = [FULL if index % period == offset else STATE for index in layers]
        return _plan(config, kinds, config.path("attn_layer_period"), config.path("attn_layer_offset"))
    if (interval := _natural(config, "full_attention_interval", 1)) is not None:
        kinds = [STATE if (index + 1) % interval else FULL for index in layers]
        return _plan(config, kinds, config.path("full_attention_interval"))
    for key in ("block_types", "_block_types"):
        if (names := config.strings(key)) is not None:
            cycle = [SLIDING if name == "attention" else STATE for name in names]
            return _plan(config, [cycle[index % len(cycle)] for index in layers], config.path(key))
    return None


def _from_chunks(config: ModelConfig) -> LayerPlan | None:
    """Llama 4: layers without rotary positions see everything, the others their chunk."""
    if config.optional("chunk") is None:
        return None
    layers = config.number("layers")
    rotary = config.integers("no_rope_layers")
    if rotary is None:
        interval = _natural(config, "no_rope_layer_interval") or 4
        rotary = [(index + 1) % interval for index in range(layers)]
    kinds = [CHUNKED if uses_rotary else FULL for uses_rotary in rotary]
    return _plan(config, kinds, config.path("no_rope_layers"), config.key("chunk"))


def _from_window(config: ModelConfig) -> LayerPlan | None:
    """A window for all layers, for all but every n-th, or for those past ``max_window_layers``."""
    layers = config.number("layers")
    if config.flag("use_sliding_window") is False or config.optional("window") is None:
        return None
    letters = config.value("sliding_window_pattern")
    if isinstance(letters, str) and letters and not set(letters) - set("LG"):
        kinds = [SLIDING if letters[index % len(letters)] == "L" else FULL for index in range(layers)]
        return _plan(config, kinds, config.path("sliding_window_pattern"), config.key("window"))
    if (every := config.optional("full_every")) is not None:
        kinds = [SLIDING if (index + 1) % every else FULL for index in range(layers)]
        return _plan(config, kinds, config.key("full_every"), config.key("window"))
    if (first := _natural(config, "max_window_layers")) is not None and config.flag("use_sliding_window"):
        kinds = [SLIDING if index >= first else FULL for index in range(layers)]
        return _plan(config, kinds, config.path("max_window_layers"), config.key("window"))
    return _plan(config, [SLIDING] * layers, config.key("window"))


def _alike(kinds: Kinds) -> Callable[[ModelConfig], LayerPlan]:
    """The same in every layer."""
    return lambda config: LayerPlan([kinds] * config.number("layers"), (config.key("layers"),), {})


def _decoder_decoder(config: ModelConfig) -> LayerPlan:
    """YOCO as in Phi-4-mini-flash: the second half attends to the KV of one full-attention layer in the middle."""
    layers = config.number("layers")
    middle = layers // 2 + 1
    shares_with: dict[int, int] = {}
    kinds: list[Kinds] = []
    for index in range(layers):
        if index % 2 == 0:
            kinds.append(STATE if index < middle else NOTHING)
        elif index <= middle:
            kinds.append(FULL if index == middle else SLIDING)
        else:
            kinds.append((LayerKind.SHARED,))
            shares_with[index] = middle
    return LayerPlan(kinds, (config.key("layers"), config.key("window")), shares_with)


def _with_sharing(config: ModelConfig, plan: LayerPlan) -> LayerPlan:
    """The plan with the layers that read another's KV marked as such."""
    kinds = list(plan.kinds)
    shares_with = dict(plan.shares_with)
    keys = plan.keys
    if (shared := config.optional("shared_layers")) is not None:
        # Gemma 3n and 4: the last layers read the last earlier layer of their own kind.
        if shared >= len(kinds):
            raise KvtiersError(f"config.json: {config.key('shared_layers')} is {shared} of {len(kinds)} layers")
        first = len(kinds) - shared
        for index in range(first, len(kinds)):
            same = [earlier for earlier in range(first) if plan.kinds[earlier] == plan.kinds[index]]
            if same:
                shares_with[index], kinds[index] = same[-1], (LayerKind.SHARED,)
        keys = (*keys, config.key("shared_layers"))
    if config.flag("use_cla") and (factor := config.optional("share_factor")) is not None:
        for index in range(len(kinds)):
            if index % factor:
                shares_with[index], kinds[index] = index - index % factor, (LayerKind.SHARED,)
        keys = (*keys, config.key("share_factor"))
    return LayerPlan(kinds, keys, shares_with)


def _natural(config: ModelConfig, key: str, least: int = 0) -> int | None:
    """The whole number, ``least`` or more, under ``key``; None when there is none."""
    value = config.value(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise KvtiersError(f"config.json: {config.path(key)} must be a whole number, {least} or more, got {value!r}")
    return value


_PLANS: tuple[Callable[[ModelConfig], LayerPlan | None], ...] = (
    _from_names,
    _from_letters,
    _from_numbers,
    _from_period,
    _from_chunks,
    _from_window,
    _alike(FULL),
)
_FAMILY_PLANS: dict[str, Callable[[ModelConfig], LayerPlan]] = {
    "attention_beside_state": _alike(BOTH),
    "state_only": _alike(STATE),
    "decoder_decoder": _decoder_decoder,
}
