"""How big KV is, read from a model's config.json.

A config becomes a list of per-layer specs (``layers``), and every number is a fold over that list (``spec``). What an
engine sets aside for it is a second question with its own answer (``vllm``).

>>> spec = kv_spec({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
...                 "num_key_value_heads": 8, "torch_dtype": "bfloat16"})
>>> spec.bytes_per_token
131072
"""

from kvtiers.model.config import parse_config, read_config
from kvtiers.model.dtypes import KV_DTYPES, KvDtype
from kvtiers.model.from_config import kv_spec
from kvtiers.model.layers import LayerKind, LayerSpec, Pieces
from kvtiers.model.spec import KvSpec
from kvtiers.model.vllm import Reservation, VllmOptions, reserve

__all__ = [
    "KV_DTYPES",
    "KvDtype",
    "KvSpec",
    "LayerKind",
    "LayerSpec",
    "Pieces",
    "Reservation",
    "VllmOptions",
    "kv_spec",
    "parse_config",
    "read_config",
    "reserve",
]
