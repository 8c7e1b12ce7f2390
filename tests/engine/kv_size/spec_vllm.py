"""Runs in the engine's own environment: vLLM's KV cache code on configs that its CPU backend cannot start.

vLLM reads the config, its layer classes make the specs (called on stand-ins that carry only what they look at), its
platform aligns blocks, and its manager divides the memory. Standard input: a JSON list of cases; standard output: one
JSON object a line.
"""

import json
import os
import sys
import tempfile
import traceback
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

os.environ.update(HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", DO_NOT_TRACK="1", CUDA_VISIBLE_DEVICES="")
RESULTS = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import torch  # noqa: E402
from vllm.distributed.utils import get_pp_indices  # noqa: E402
from vllm.model_executor.layers.attention.attention import Attention  # noqa: E402
from vllm.model_executor.layers.attention.cross_attention import CrossAttention  # noqa: E402
from vllm.model_executor.layers.attention.mla_attention import MLAAttention, MLACommonBackend  # noqa: E402
from vllm.model_executor.layers.mamba.mamba_utils import (  # noqa: E402
    MambaStateDtypeCalculator,
    MambaStateShapeCalculator,
)
from vllm.model_executor.models import ModelRegistry  # noqa: E402
from vllm.model_executor.models.deepseek_v2 import DeepseekV32IndexerCache  # noqa: E402
from vllm.platforms.interface import Platform  # noqa: E402
from vllm.transformers_utils.config import get_config, get_hf_text_config  # noqa: E402
from vllm.transformers_utils.model_arch_config_convertor import ModelArchConfigConvertorBase  # noqa: E402
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype  # noqa: E402
from vllm.v1.attention.backend import AttentionType, MultipleOf  # noqa: E402
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend  # noqa: E402
from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity, get_kv_cache_configs  # noqa: E402
from vllm.v1.kv_cache_interface import KVCacheSpec, MambaSpec  # noqa: E402
from vllm.v1.kv_cache_layout import KVCacheLayout  # noqa: E402


class Backend(TritonAttentionBackend):
    """Triton's packing of quantized KV, with the kernel blocks of FlashAttention."""

    @staticmethod
    def get_supported_kernel_block_sizes(kv_cache_spec: KVCacheSpec | None = None) -> list[MultipleOf]:
        """Any multiple of 16."""
        return [MultipleOf(16)]


class Model:
    """One case: the config as vLLM reads it, and the settings its cache code looks at."""

    def __init__(self, case: dict) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(case["config"]), encoding="utf-8")
            config = get_config(folder, trust_remote_code=False)
        self.text = get_hf_text_config(config)
        self.arch = ModelArchConfigConvertorBase(config, self.text)
        self.tp = case["tp"]
        self.kv_dtype = case["kv_dtype"]
        kv_heads = max(1, self.arch.get_total_num_kv_heads() // self.tp)  # ModelConfig.get_num_kv_heads
        is_mla = self.arch.is_deepseek_mla()
        model = SimpleNamespace(
            dtype=torch.bfloat16,
            use_mla=is_mla,
            max_model_len=case["max_model_len"],
            original_max_model_len=case["max_model_len"],
            architecture=case["name"],
            get_num_kv_heads=lambda parallel: 1 if is_mla else kv_heads,
            get_head_size=self.arch.get_head_size,
        )
        cache = SimpleNamespace(
            block_size=16,
            cache_dtype=self.kv_dtype,
            mamba_block_size=16,
            mamba_page_size_padded=None,
            mamba_cache_mode="align",
            mamba_cache_dtype="auto",
            mamba_ssm_cache_dtype=getattr(self.text, "mamba_ssm_dtype", "auto"),
            skip_page_size_padded=None,
            kv_cache_dtype_skip_layers=None,
            num_gpu_blocks_override=None,
            prefix_cache_retention_interval=None,
            get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC,
        )
        self.config = SimpleNamespace(
            model_config=model,
            cache_config=cache,
            scheduler_config=SimpleNamespace(
                disable_hybrid_kv_cache_manager=False,
                max_num_encoder_input_tokens=getattr(self.text, "max_source_positions", 0),
            ),
            parallel_config=SimpleNamespace(tensor_parallel_size=self.tp, decode_context_parallel_size=1),
            attention_config=SimpleNamespace(hisparse_config=None),
            speculative_config=None,
            num_prefill_lookahead_tokens=0,
            max_in_flight_tokens=case["in_flight_tokens"],
        )
        self.torch_dtype = kv_cache_dtype_str_to_dtype(self.kv_dtype, model)

    def specs(self) -> dict[str, KVCacheSpec]:
        """One spec for each cache of each layer."""
        if any(self.is_state(index) for index in range(self.layers)):
            self.align_blocks()
        specs: dict[str, KVCacheSpec] = {}
        for index in range(self.layers):
            if self.is_state(index):
                specs[f"{index}.state"] = self.state(padded=True)
            elif self.arch.is_deepseek_mla():
                specs[f"{index}.mla"] = self.latent()
                if self.has_indexer(index):
                    specs[f"{index}.indexer"] = self.indexer()
            else:
                specs[f"{index}.attention"] = self.attention(Attention)
                if getattr(self.text, "is_encoder_decoder", False):
                    specs[f"{index}.cross"] = self.attention(CrossAttention)
        return specs

    @property
    def layers(self) -> int:
        """Decoder layers."""
        return getattr(self.text, "decoder_layers", None) or self.text.num_hidden_layers

    def is_state(self, index: int) -> bool:
        """Whether the layer keeps a state instead of tokens."""
        if hasattr(self.text, "is_kda_layer"):
            return self.text.is_kda_layer(index)
        types = getattr(self.text, "layer_types", None)
        return types is not None and types[index] == "linear_attention"

    def has_indexer(self, index: int) -> bool:
        """As DeepseekV2MLAAttention decides it."""
        if not hasattr(self.text, "index_topk"):
            return False
        every, offset = getattr(self.text, "index_topk_freq", 1), getattr(self.text, "index_skip_topk_offset", 2)
        return max(index - offset + 1, 0) % every == 0

    def attention(self, layer: type) -> KVCacheSpec:
        """K and V."""
        heads = self.config.model_config.get_num_kv_heads(None)
        stand_in = SimpleNamespace(
            attn_type=AttentionType.DECODER,
            kv_cache_dtype=self.kv_dtype,
            kv_cache_torch_dtype=self.torch_dtype,
            sliding_window=None,
            num_kv_heads=heads,
            head_size=self.arch.get_head_size(),
            head_size_v=self.arch.get_head_size(),
        )
        return Backend.customize_spec(layer.get_kv_cache_spec(stand_in, self.config))

    def latent(self) -> KVCacheSpec:
        """The MLA latent."""
        stand_in = SimpleNamespace(
            kv_cache_dtype=self.kv_dtype,
            head_size=self.arch.get_head_size(),
            sliding_window=None,
            indexer=None,
            non_causal_multi_token_decode=False,
        )
        return MLACommonBackend.customize_spec(MLAAttention.get_kv_cache_spec(stand_in, self.config))

    def indexer(self) -> KVCacheSpec:
        """The sparse-attention indexer's keys, sized as Indexer does."""
        dim = self.text.index_head_dim
        stand_in = SimpleNamespace(
            cache_config=self.config.cache_config, head_dim=dim + dim // 128 * 4, dtype=torch.uint8
        )
        return DeepseekV32IndexerCache.get_kv_cache_spec(stand_in, self.config)

    def state_shape(self) -> tuple:
        """Shapes of a linear-attention state."""
        text = self.text
        if hasattr(text, "is_kda_layer"):
            linear = text.linear_attn_config
            return MambaStateShapeCalculator.kda_state_shape(
                self.tp, linear["num_heads"], linear["head_dim"], conv_kernel_size=linear["short_conv_kernel_size"]
            )
        return MambaStateShapeCalculator.gated_delta_net_state_shape(
            self.tp,
            text.linear_num_key_heads,
            text.linear_num_value_heads,
            text.linear_key_head_dim,
            text.linear_value_head_dim,
            text.linear_conv_kernel_dim,
        )

    def state_dtypes(self) -> tuple:
        """Types of a linear-attention state."""
        cache = self.config.cache_config
        is_kda = hasattr(self.text, "is_kda_layer")
        kind = "kda_state_dtype" if is_kda else "gated_delta_net_state_dtype"
        calculate = getattr(MambaStateDtypeCalculator, kind)
        return calculate(torch.bfloat16, cache.mamba_cache_dtype, cache.mamba_ssm_cache_dtype)

    def state(self, padded: bool) -> KVCacheSpec:
        """A linear-attention state."""
        cache = self.config.cache_config
        return MambaSpec(
            shapes=self.state_shape(),
            dtypes=self.state_dtypes(),
            block_size=cache.mamba_block_size,
            page_size_padded=cache.mamba_page_size_padded if padded else None,
            mamba_cache_mode="align",
        )

    def align_blocks(self) -> None:
        """The platform's alignment of attention blocks and states."""
        stand_in = SimpleNamespace(
            get_mamba_state_shape_from_config=lambda config: self.state_shape(),
            get_mamba_state_dtype_from_config=lambda config: self.state_dtypes(),
        )
        ModelRegistry.resolve_model_cls = lambda *_, **__: (stand_in, "")
        Platform._find_non_ssm_backends = classmethod(lambda cls, config: [Backend])
        Platform._align_hybrid_block_size(self.config, Backend)


def capacity(case: dict) -> dict:
    """Tokens and bytes as the engine would count them."""
    model = Model(case)
    specs, pp = model.specs(), case["pp"]
    bounds = [get_pp_indices(model.layers, rank, pp) for rank in range(pp)]
    stages = [
        {name: spec for name, spec in specs.items() if start <= int(name.split(".")[0]) < end} for start, end in bounds
    ]
    pools = get_kv_cache_configs(model.config, stages, [case["memory_bytes"]] * pp)
    tokens, _ = get_kv_cache_capacity(model.config, pools[0])
    return {"tokens": tokens}


# set_current_vllm_config wants a whole VllmConfig; all that happens inside is a look at a backend's block sizes
import vllm.config.vllm  # noqa: E402

vllm.config.vllm.set_current_vllm_config = lambda *_, **__: nullcontext()

for case in json.load(sys.stdin):
    try:
        result = capacity(case)
    except Exception as error:  # the test names the case and shows this
        result = {"error": "".join(traceback.format_exception(error))}
    RESULTS.write(json.dumps({"name": case["name"], **result}) + "\n")
