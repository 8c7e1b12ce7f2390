"""LMCache in-process on vLLM's CPU backend, as an out-of-tree vLLM connector.

LMCache 0.5.6 has no connector for device type "cpu": its engine fails to start, the server is healthy, caches nothing
and waits 3 s on each request. This file supplies what is missing: a GPUConnectorInterface over CPU tensors.

vLLM's CPU attention packs the K rows of a block, then its V rows, in an order that only whole blocks make sense of. So
whole blocks are copied, as they are; the LMCache chunk must be a multiple of the vLLM block.

Use: --kv-transfer-config '{"kv_connector": "LMCacheCPUConnectorV1", "kv_connector_module_path":
"lmcache_cpu_connector", "kv_role": "kv_both"}' with this directory on PYTHONPATH. Read against LMCache 0.5.6 and vLLM
0.32.0.
"""

from typing import Any

import torch
from lmcache.utils import EngineType
from lmcache.v1 import gpu_connector
from lmcache.v1.gpu_connector.gpu_connectors import GPUConnectorInterface
from vllm.distributed.kv_transfer.kv_connector.v1.lmcache_connector import LMCacheConnectorV1


class PagedCPUConnector(GPUConnectorInterface):
    """Copies KV between vLLM's paged CPU cache and LMCache's memory objects.

    A layer's cache is ``[blocks, kv_heads, block_tokens, 2 * head_dim]``; a memory object holds the blocks of one chunk
    for all layers, ``[layers, chunk_blocks, kv_heads, block_tokens, 2 * head_dim]``.
    """

    def __init__(self, metadata: Any) -> None:
        self.layers, kv_parts, _, kv_heads, head_dim = metadata.kv_shape
        if metadata.use_mla or kv_parts != 2:
            raise NotImplementedError("the CPU connector copies K and V per head: no MLA")
        self.token_width = kv_heads * head_dim
        self.kvcaches: list[torch.Tensor] = []

    def initialize_kvcaches_ptr(self, **kwargs: Any) -> None:
        """Remember vLLM's cache tensors, one a layer."""
        if "kvcaches" in kwargs:
            self.kvcaches = list(kwargs["kvcaches"])

    def from_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None:
        """Store: tokens ``start:end`` out of vLLM's blocks."""
        self.initialize_kvcaches_ptr(**kwargs)
        blocks = self._blocks(kwargs["slot_mapping"][start:end])
        chunk = self._chunk(memory_obj, len(blocks))
        for layer, cache in enumerate(self.kvcaches):
            torch.index_select(cache, 0, blocks, out=chunk[layer])

    def to_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None:
        """Load: tokens ``start:end`` into vLLM's blocks, past what vLLM already holds."""
        self.initialize_kvcaches_ptr(**kwargs)
        held = min(end - start, max(0, kwargs.get("vllm_cached_tokens", 0) - start))
        block_tokens = self.kvcaches[0].shape[2]
        chunk = self._chunk(memory_obj, (end - start) // block_tokens)
        blocks = self._blocks(kwargs["slot_mapping"][start + held : end])
        for layer, cache in enumerate(self.kvcaches):
            cache.index_copy_(0, blocks, chunk[layer, held // block_tokens :])

    def batched_from_gpu(self, memory_objs: Any, starts: Any, ends: Any, **kwargs: Any) -> None:
        for memory_obj, start, end in zip(memory_objs, starts, ends, strict=True):
            self.from_gpu(memory_obj, start, end, **kwargs)

    def batched_to_gpu(self, memory_objs: Any, starts: Any, ends: Any, **kwargs: Any) -> None:
        for memory_obj, start, end in zip(memory_objs, starts, ends, strict=True):
            self.to_gpu(memory_obj, start, end, **kwargs)

    def get_shape(self, num_tokens: int) -> torch.Size:
        """LMCache's own shape of a chunk; only its size matters, the bytes are vLLM's blocks."""
        return torch.Size([2, self.layers, num_tokens, self.token_width])

    def _blocks(self, slots: torch.Tensor) -> torch.Tensor:
        """Block numbers behind a run of slots that covers whole blocks."""
        block_tokens = self.kvcaches[0].shape[2]
        if len(slots) % block_tokens:
            raise ValueError(f"{len(slots)} tokens are not whole blocks of {block_tokens}: chunk must be a multiple")
        rows = slots.view(-1, block_tokens)
        if not torch.equal(rows, rows[:, :1] // block_tokens * block_tokens + torch.arange(block_tokens)):
            raise ValueError("the slots do not cover whole vLLM blocks in order")
        return rows[:, 0] // block_tokens

    def _chunk(self, memory_obj: Any, blocks: int) -> torch.Tensor:
        return memory_obj.tensor.view(-1).view(self.layers, blocks, *self.kvcaches[0].shape[1:])


_create_for_gpu = gpu_connector.CreateGPUConnector


def _create(config: Any, metadata: Any, engine: Any, layout_hints: Any = None) -> Any:
    if engine != EngineType.VLLM or gpu_connector.torch_device_type != "cpu":
        return _create_for_gpu(config, metadata, engine, layout_hints)
    if config.use_layerwise or config.enable_blending:
        raise ValueError("the CPU connector does neither layerwise transfer nor blending")
    return PagedCPUConnector(metadata)


gpu_connector.CreateGPUConnector = _create


class LMCacheCPUConnectorV1(LMCacheConnectorV1):
    """LMCacheConnectorV1 under a name of its own, so that vLLM loads this module and with it the patch above."""
