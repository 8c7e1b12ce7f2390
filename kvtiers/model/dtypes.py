"""What one K or V vector takes in each KV type, scales included.

Sources: vLLM 0.32.0 (``*_per_token_head``: one fp32 scale per head, token and side; ``nvfp4``: one byte per 16 values;
fp8: one scale per layer, nothing per token) and llama.cpp's block formats (``q8_0``, ``q4_0``, ``q4_1``: blocks of 32).
"""

from dataclasses import dataclass

from kvtiers.errors import KvtiersError
from kvtiers.model.families import DTYPE_NAMES


@dataclass(frozen=True)
class KvDtype:
    """A KV type: ``bits`` per value, and ``scale_bytes`` for each group of values.

    ``group`` is the number of values that share a scale; 0 means all values of one vector do.
    """

    name: str
    bits: int
    scale_bytes: int = 0
    group: int = 0

    def vector_bytes(self, values: int) -> int:
        """Bytes of one K or V vector of ``values`` elements; a group that is not full takes a full one."""
        groups = -(-values // self.group) if self.group else 1
        stored = groups * self.group if self.group else values
        return -(-stored * self.bits // 8) + groups * self.scale_bytes


_ALL = (
    KvDtype("fp32", 32),
    KvDtype("fp16", 16),
    KvDtype("bf16", 16),
    KvDtype("fp8", 8),
    KvDtype("fp8_e4m3", 8),
    KvDtype("fp8_e5m2", 8),
    KvDtype("int8", 8),
    KvDtype("fp8_per_token_head", 8, scale_bytes=4),
    KvDtype("int8_per_token_head", 8, scale_bytes=4),
    KvDtype("int4_per_token_head", 4, scale_bytes=4),
    KvDtype("nvfp4", 4, scale_bytes=1, group=16),
    KvDtype("q8_0", 8, scale_bytes=2, group=32),
    KvDtype("q4_0", 4, scale_bytes=2, group=32),
    KvDtype("q4_1", 4, scale_bytes=4, group=32),
    # MLA only: latent, rope part and scales packed into one record per token (PACKED_MLA_BYTES).
    KvDtype("fp8_ds_mla", 8),
    KvDtype("nvfp4_ds_mla", 4),
)
KV_DTYPES = {dtype.name: dtype for dtype in _ALL}

# 512 latent values + 64 rope values and their scales; bf16 would take 1,152.
PACKED_MLA_BYTES = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}


def kv_dtype_named(name: str, field: str = "kv_dtype") -> KvDtype:
    """The KV type of that name, or PyTorch's (``bfloat16``, ``torch.float16``); errors call it ``field``."""
    short = name.removeprefix("torch.")
    dtype = KV_DTYPES.get(DTYPE_NAMES.get(short, short))
    if dtype is None:
        raise KvtiersError(f"{field} must be one of {', '.join(KV_DTYPES)}, got {name!r}")
    return dtype
