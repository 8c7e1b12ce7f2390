"""Which kind each layer is.

Families say it in many ways: a list of names, a string of letters, a period and an offset, every n-th layer. Each plan
here reads one of them; the first whose key is in the config decides.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvtiers.errors import KvtiersError
from kvtiers.model.config import ModelConfig
from kvtiers.model.families import LAYER_NAMES, Kinds
from kvtiers.model.layers import LayerKind

FULL: Kinds = (LayerKind.FULL,)
SLIDING: Kinds = (LayerKind.SLIDING,)
CHUNKED: Kinds = (LayerKind.CHUNKED,)
STATE: Kinds = (LayerKind.STATE,)
BOTH: Kinds = (LayerKind.FULL, LayerKind.STATE)
SHARED: Kinds = (LayerKind.SHARED,)
NOTHING: Kinds = (LayerKind.NONE,)

_LETTERS: dict[str, Kinds] = {"M": STATE, "*": FULL, "-": NOTHING, "E": NOTHING}
# What 0 and any other number stand for: MiniMax's softmax attention is 1, MiMo's sliding one too.
_NUMBERS = {"attn_type_list": (STATE, FULL), "hybrid_layer_pattern": (FULL, SLIDING)}
# The first layer's number: Bamba counts from 0, Kimi Linear from 1.
_POSITIONS = {"attn_layer_indices": 0, "linear_attn_config.full_attn_layers": 1}


@dataclass(frozen=True)
class LayerPlan:
    """The kinds of each layer's caches, and the config keys that say so."""

    kinds: list[Kinds]
    keys: tuple[str, ...]
    shares_with: dict[int, int]


def layer_plan(config: ModelConfig) -> LayerPlan:
    """The plan of a decoder's layers; keys that contradict each other are refused."""
    own = config.family.layer_plan
    plans = (_FAMILY_PLANS[own],) if own else _PLANS
    return _with_sharing(config, next(filter(None, (read(config) for read in plans))))


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
        names = config.listed(key, str)
        if names is None:
            continue
        for name in sorted(set(names) - set(LAYER_NAMES)):
            config.warn("unknown_layer", key=config.path(key), name=name)
        return _plan(config, [LAYER_NAMES.get(name, FULL) for name in names], config.path(key))
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
    for key, kinds in _NUMBERS.items():
        if (types := config.listed(key, int)) is not None:
            return _plan(config, [kinds[bool(number)] for number in types], config.path(key))
    layers = range(config.optional("layers") or 0)
    for key, first in _POSITIONS.items():
        if (positions := config.listed(key, int)) is not None:
            chosen = {position - first for position in positions}
            if not chosen <= set(layers):
                raise KvtiersError(f"config.json: {config.path(key)} names a layer that is not among the {len(layers)}")
            return _plan(config, [FULL if index in chosen else STATE for index in layers], config.path(key))
    return None


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
        if (names := config.listed(key, str)) is not None:
            cycle = [SLIDING if name == "attention" else STATE for name in names]
            return _plan(config, [cycle[index % len(cycle)] for index in layers], config.path(key))
    return None


def _from_chunks(config: ModelConfig) -> LayerPlan | None:
    """Llama 4: layers without rotary positions see everything, the others their chunk."""
    if config.optional("chunk") is None:
        return None
    layers = config.number("layers")
    rotary = config.listed("no_rope_layers", int)
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

    def kind(index: int) -> Kinds:
        if index % 2 == 0:
            return STATE if index < middle else NOTHING
        return SLIDING if index < middle else FULL if index == middle else SHARED

    kinds = [kind(index) for index in range(layers)]
    shares_with = {index: middle for index, kind in enumerate(kinds) if kind is SHARED}
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
                shares_with[index], kinds[index] = same[-1], SHARED
        keys = (*keys, config.key("shared_layers"))
    if config.flag("use_cla") and (factor := config.optional("share_factor")) is not None:
        for index in range(len(kinds)):
            if index % factor:
                shares_with[index], kinds[index] = index - index % factor, SHARED
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
