"""What a run takes of a GPU's memory, and what an engine is told so that it claims no more.

vLLM claims a share of the whole card (0.92) and stops where less is free, though it then holds only the blocks that
--num-gpu-blocks-override names (read in vLLM 0.32.0: request_memory, get_kv_cache_configs). So the share is computed.
"""

import math
from dataclasses import dataclass

from kvtiers.units import GIB, format_bytes
from lab.errors import LabError
from lab.knobs import Pool
from machine.gpu import LEAST_FREE_BYTES, Card

# LMCache's server opens a context of its own on the card, and buffers for its copies: estimated, not measured.
_SERVER_BYTES = 0.75 * GIB
_HUNDREDTHS = 100


@dataclass(frozen=True)
class CardShare:
    """How one run shares a card: ``engine_bytes`` for each engine, ``server_bytes`` for LMCache's server."""

    card: Card
    engine_bytes: float
    server_bytes: float

    @property
    def engines(self) -> int:
        """How many engines can be up at once: 0, 1 or 2."""
        return max(0, min(2, int((self.card.free_bytes - self.server_bytes) // self.engine_bytes)))

    @property
    def utilization(self) -> float:
        """Of --gpu-memory-utilization: one engine's share of the whole card. Rounded down: vLLM asks that as much is
        free at its start, and for nothing else."""
        return max(1, math.floor(_HUNDREDTHS * self.engine_bytes / self.card.total_bytes)) / _HUNDREDTHS

    def complaint(self, engines: int) -> str:
        """Why ``engines`` do not fit at once; empty text where they do."""
        if self.engines >= engines:
            return ""
        wanted = engines * self.engine_bytes + self.server_bytes
        return (
            f"{self.card}: {format_bytes(self.card.free_bytes)} of it are free, and the run takes about "
            f"{format_bytes(wanted)}: end other programs on it, name another card with CUDA_VISIBLE_DEVICES, or "
            "choose a smaller --preset"
        )

    def require(self, engines: int) -> None:
        """Refuse before a minute's start.

        Raises:
            LabError: so many do not fit at once.
        """
        if complaint := self.complaint(engines):
            raise LabError(complaint)


def card_share(card: Card, pool: Pool, weight_bytes: float, *, with_server: bool) -> CardShare:
    """The share that weights, KV pool and the rest come to."""
    return CardShare(card, weight_bytes + pool.total_bytes + LEAST_FREE_BYTES, _SERVER_BYTES if with_server else 0.0)


def environment(card: Card | None) -> dict[str, str]:
    """What every process of a run on a GPU is told: which card, and to leave alone what would want CUDA's compiler."""
    chosen = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": str(card.index)} if card else {}
    # Both want nvcc, which no package brings. Without them FP8 has other kernels, and greedy answers need no sampler.
    quiet = {"VLLM_USE_DEEP_GEMM": "0", "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    return chosen | quiet
