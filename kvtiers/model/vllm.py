"""What vLLM 0.32.0 reserves for a model, by the rules of its KV cache manager.

vLLM deals blocks out of one pool. Layers with equal needs form groups; each group has its own block table, and a block
of the pool is as large as the largest group's page of it. So a layer can take more than it must keep: padding to
whole blocks, to equal pages, to groups of equal size, and tokens in flight beyond a window. The rules change between
versions; these are those of 0.32.0 (``vllm/v1/core/kv_cache_utils.py``, ``vllm/v1/kv_cache_interface.py``,
``vllm/platforms/interface.py``) with the layer-outermost layouts, which the CPU and FlashAttention backends use.
"""

from dataclasses import dataclass, replace
from math import lcm

from kvtiers.errors import KvtiersError
from kvtiers.model.families import NOT_SERVED
from kvtiers.model.layers import GROWING, WINDOWED, LayerKind, LayerSpec, Recurrence
from kvtiers.model.spec import KvSpec, at_least_one
from kvtiers.words.message import Message

# MLA decode kernels want blocks in multiples of this beside state-space layers.
_MLA_BLOCK = 128

# The server's --max-num-batched-tokens, by the GPU's memory in GiB from which it holds.
BATCHED_TOKENS = {2048: 0, 8192: 70, 16384: 160}

# KV types of other engines.
_FOREIGN_KV_DTYPES = frozenset({"int8", "q8_0", "q4_0", "q4_1"})


@dataclass(frozen=True)
class VllmOptions:
    """The engine's settings that decide what it reserves.

    Attributes:
        block_size: tokens per block, ``--block-size``; 16 on CUDA, 128 on CPU by default.
        kernel_block: tokens the attention kernel's block is a multiple of: 16 for FlashAttention, 32 on CPU.
        hybrid_manager: whether windowed layers get block tables of their own; the engine's choice when None. It is off
            with chunked attention, and with connectors that do not support it, LMCacheConnectorV1 among them.
        prefix_caching: on by default, but for models without attention; state layers then hold two states a sequence.
        max_num_batched_tokens: ``--max-num-batched-tokens``; the server's default is 2048 below 70 GiB of GPU memory,
            8192 on larger ones, 16384 from 160 GiB.
        concurrent_batches: 2 with asynchronous scheduling (the default on CUDA), else 1.
    """

    block_size: int = 16
    kernel_block: int = 16
    hybrid_manager: bool | None = None
    prefix_caching: bool = True
    max_num_batched_tokens: int = 2048
    concurrent_batches: int = 2

    @property
    def in_flight_tokens(self) -> int:
        """Tokens of a sequence that may be scheduled and not yet settled."""
        return self.max_num_batched_tokens * self.concurrent_batches


@dataclass(frozen=True)
class Cache:
    """One layer's cache as the engine sees it: ``page_bytes`` for each block of ``block_size`` tokens, on one rank."""

    layer: LayerSpec
    block_size: int
    page_bytes: int
    promoted: bool = False

    @property
    def kind(self) -> LayerKind:
        """The kind it is allocated as: windowed layers are full ones when promoted."""
        return LayerKind.FULL if self.promoted else self.layer.kind

    def blocks(self, context_tokens: int, options: VllmOptions) -> int:
        """Blocks that one sequence of ``context_tokens`` may hold at once."""
        if self.kind is LayerKind.STATE:
            if not options.prefix_caching:
                return 1
            # the running state and the one at the last block boundary; Mamba-2 also saves one within a prefill
            return 3 if self.layer.recurrence is Recurrence.MAMBA2 else 2
        if self.kind is LayerKind.CROSS:
            return _ceil(self.layer.source_tokens, self.block_size)
        window = self.layer.window or 0
        if self.kind is LayerKind.SLIDING:  # the window may start in the middle of a block
            return _ceil(min(window - 1 + options.in_flight_tokens, context_tokens), self.block_size) + 1
        if self.kind is LayerKind.CHUNKED:
            return _ceil(min(window + options.in_flight_tokens, context_tokens), self.block_size)
        return _ceil(context_tokens, self.block_size)


@dataclass(frozen=True)
class Reservation:
    """How the engine divides its memory for a model.

    Attributes:
        engine: the engine and version whose rules these are.
        rule: which of its rules applied.
        options: the settings it was worked out for.
        groups: caches that share a block table.
        block_bytes: bytes of one block of the pool, on each pipeline stage's ranks (one entry a stage).
        tp: tensor-parallel ranks.
        warnings: what the engine will refuse or what differs from the default.
    """

    engine: str
    rule: Message
    options: VllmOptions
    groups: tuple[tuple[Cache, ...], ...]
    block_bytes: tuple[int, ...]
    tp: int
    warnings: tuple[Message, ...]

    def blocks(self, context_tokens: int) -> int:
        """Blocks of the pool that one sequence of ``context_tokens`` may hold at once."""
        return sum(max(cache.blocks(context_tokens, self.options) for cache in group) for group in self.groups)

    def reserved_bytes(self, context_tokens: int, users: int = 1) -> int:
        """Bytes that ``users`` sequences of ``context_tokens`` may claim at once, over all ranks.

        This is what the engine itself counts before it admits a request: whole blocks, and for windowed layers the
        tokens in flight too.
        """
        return self._claimed_blocks(context_tokens, users) * sum(self.block_bytes) * self.tp

    def rank_reserved_bytes(self, context_tokens: int, users: int = 1) -> int:
        """The same on the rank that needs most."""
        return self._claimed_blocks(context_tokens, users) * max(self.block_bytes)

    def _claimed_blocks(self, context_tokens: int, users: int) -> int:
        return at_least_one("users", users) * self.blocks(at_least_one("context", context_tokens))

    def capacity_tokens(self, rank_bytes: int, max_model_len: int) -> int:
        """The engine's own ``KV cache size: N tokens`` for ``rank_bytes`` of memory on each rank.

        It is the number of sequences of ``max_model_len`` that fit, times their length.
        """
        pool_blocks = min(rank_bytes // stage_bytes for stage_bytes in self.block_bytes)
        return int(pool_blocks / self.blocks(max_model_len) * max_model_len)

    @property
    def hit_granularity_tokens(self) -> int:
        """Prefix-cache hits come in multiples of this: the least common multiple of the groups' blocks."""
        return lcm(*(group[0].block_size for group in self.groups if group[0].kind is not LayerKind.CROSS))

    def smallest_hit_tokens(self, chunk_tokens: int | None = None) -> int:
        """The shortest prefix that can hit: whole blocks here, and whole chunks in a tier below."""
        smallest = self.hit_granularity_tokens
        return smallest if chunk_tokens is None else max(smallest, at_least_one("chunk", chunk_tokens))


def reserve(spec: KvSpec, options: VllmOptions | None = None, *, tp: int = 1, pp: int = 1) -> Reservation:
    """What vLLM 0.32.0 reserves for a model on ``tp`` x ``pp`` ranks.

    Raises:
        KvtiersError: when vLLM would refuse the combination, or nothing keeps KV.
    """
    options = options or VllmOptions()
    settings = ("block_size", "kernel_block", "max_num_batched_tokens", "concurrent_batches")
    for name, value in {"tp": tp, "pp": pp, **{name: getattr(options, name) for name in settings}}.items():
        at_least_one(name, value)
    layers = [layer for layer in spec.layers if layer.kind not in (LayerKind.SHARED, LayerKind.NONE)]
    if not layers:
        raise KvtiersError("no layer of this model keeps KV: there is nothing to reserve")
    if all(layer.kind is LayerKind.STATE for layer in layers):
        options = replace(options, prefix_caching=False)  # vLLM's default for models without attention
    caches = _caches(layers, options, tp)
    warnings: list[Message] = []
    if spec.model_type in NOT_SERVED:
        warnings.append(Message("model.not_served", {"model_type": spec.model_type}))
    if spec.kv_dtype in _FOREIGN_KV_DTYPES:
        warnings.append(Message("model.foreign_kv_dtype", {"kv_dtype": spec.kv_dtype}))
    chunked = any(layer.kind is LayerKind.CHUNKED for layer in layers)
    if not (options.hybrid_manager or (options.hybrid_manager is None and not chunked)):
        caches = _promote(caches)
        if any(cache.promoted for cache in caches):
            warnings.append(Message("model.hybrid_manager_off", {}))
    groups, rule = _groups(caches)
    stages = _stages(spec.layers, pp)
    block_bytes = tuple(
        max(sum(cache.page_bytes for cache in group if cache.layer.index in stage) for group in groups)
        for stage in stages
    )
    return Reservation("vLLM 0.32.0", rule, options, groups, block_bytes, tp, tuple(warnings))


def _caches(layers: list[LayerSpec], options: VllmOptions, tp: int) -> list[Cache]:
    """Pages of every layer. Beside state layers, attention blocks grow until their page holds a whole state."""
    states = [layer for layer in layers if layer.kind is LayerKind.STATE]
    attention = [layer for layer in layers if layer.kind is not LayerKind.STATE]
    block_size = options.block_size
    state_page = max((layer.fixed_bytes(tp) for layer in states), default=0)
    if states and attention:
        token_bytes = attention[0].bytes_per_token(tp)
        step = max(options.kernel_block, block_size, _MLA_BLOCK if attention[0].kind is LayerKind.MLA else 0)
        kernel_blocks = _ceil(step * _ceil(state_page, step * token_bytes), options.kernel_block)
        block_size = max(block_size, kernel_blocks * options.kernel_block)
        state_page = block_size * token_bytes
    pages = {layer: block_size * layer.bytes_per_token(tp) for layer in attention} | dict.fromkeys(states, state_page)
    return [Cache(layer, block_size, pages[layer]) for layer in layers]


def _promote(caches: list[Cache]) -> list[Cache]:
    """Without the hybrid manager there is one block table: windowed layers are allocated like full ones."""
    if _is_uniform(caches):
        return caches
    if any(cache.kind in GROWING for cache in caches):
        promoted = [replace(cache, promoted=cache.kind in WINDOWED) for cache in caches]
        if _is_uniform(promoted):
            return promoted
    raise KvtiersError(
        "vLLM 0.32.0 cannot serve this model without its hybrid KV cache manager: states or unequal windows need it"
    )


def _is_uniform(caches: list[Cache]) -> bool:
    """Whether all layers need the same number of slots, so that one block table serves them all."""
    return len({_table(cache) for cache in caches}) == 1


def _table(cache: Cache) -> tuple[object, ...]:
    kind = LayerKind.FULL if cache.kind in GROWING else cache.kind
    window = cache.layer.window if kind in WINDOWED else None
    return kind, window, cache.block_size, cache.layer.source_tokens if kind is LayerKind.CROSS else 0


def _groups(caches: list[Cache]) -> tuple[tuple[tuple[Cache, ...], ...], Message]:
    if _is_uniform(caches):
        return (tuple(caches),), Message("model.rule.uniform", {})
    unified = _unify_pages(caches)
    if unified is None:
        return (tuple(_promote(caches)),), Message("model.rule.full", {})
    buckets: dict[tuple[object, ...], list[Cache]] = {}
    for cache in unified:
        buckets.setdefault((*_table(cache), cache.layer.token_parts, cache.kind), []).append(cache)
    sizes = [len(bucket) for bucket in buckets.values()]
    # vLLM's rule of thumb: pad the smaller kinds up when they are nearly as many, else split the larger ones.
    size = max(sizes) if max(sizes) < min(sizes) * 1.5 else min(sizes)
    parted = ((bucket, _ceil(len(bucket), size)) for bucket in buckets.values())
    groups = [tuple(bucket[start::count]) for bucket, count in parted for start in range(count)]
    page = unified[0].page_bytes
    return tuple(groups), Message("model.rule.hybrid", {"groups": len(groups), "layers": size, "bytes": page})


def _unify_pages(caches: list[Cache]) -> list[Cache] | None:
    """All pages as large as the largest: by longer blocks where that divides, else by padding. None if neither can."""
    page = max(cache.page_bytes for cache in caches)
    unified = []
    for cache in caches:
        longer = 1
        if cache.kind is not LayerKind.STATE and page % cache.page_bytes == 0:
            longer = page // cache.page_bytes
        elif cache.kind in (LayerKind.MLA, LayerKind.INDEXER):
            return None
        unified.append(replace(cache, page_bytes=page, block_size=longer * cache.block_size))
    return unified


def _stages(layers: tuple[LayerSpec, ...], pp: int) -> list[range]:
    """Layers of each pipeline stage: what is left over goes to the stages before the last, draft layers to the last."""
    count = 1 + max(layer.index for layer in layers if not layer.draft)
    if pp > count:
        raise KvtiersError(f"pp={pp} is more than the {count} layers")
    sizes = [count // pp] * pp
    for stage in range(count % pp):
        sizes[-2 - stage] += 1
    sizes[-1] += max(layer.index for layer in layers) + 1 - count
    starts = [sum(sizes[:stage]) for stage in range(pp)]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def _ceil(value: int, step: int) -> int:
    return -(-value // step)
