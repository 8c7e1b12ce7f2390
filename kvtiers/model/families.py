"""What families call things: the data that turns a config.json into the names this package uses.

Source: the config classes of Hugging Face transformers 5 and the readers in vLLM 0.32.0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Field:
    """A number under any of several keys (dots reach into objects); above ``maximum`` it is surely a mistake.

    ``zero_is_none``: configs write 0 to switch it off.
    """

    keys: tuple[str, ...]
    maximum: int
    zero_is_none: bool = False


_DIM, _HEADS, _TOKENS = 65_536, 4_096, 1_000_000_000

# The order decides where a config carries two of the names.
FIELDS: Mapping[str, Field] = {
    "layers": Field(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2_000),
    "decoder_layers": Field(("decoder_layers", "num_decoder_layers", "num_hidden_layers", "num_layers"), 2_000),
    "hidden": Field(("hidden_size", "n_embd", "d_model", "model_dim"), 1_000_000),
    "heads": Field(
        ("num_attention_heads", "n_head", "n_heads", "decoder_attention_heads", "num_heads", "attn_config.n_heads"),
        _HEADS,
    ),
    "kv_heads": Field(
        (
            "num_key_value_heads",
            "n_head_kv",
            "num_kv_heads",
            "multi_query_group_num",
            "num_attention_groups",
            "num_query_groups",
            "attn_config.kv_n_heads",
        ),
        _HEADS,
    ),
    "head_dim": Field(("head_dim", "attention_head_dim", "kv_channels", "hidden_size_per_head", "d_kv"), _DIM),
    "v_head_dim": Field(("v_head_dim",), _DIM),
    # layers of a second kind with heads of their own
    "global_kv_heads": Field(("num_global_key_value_heads",), _HEADS),
    "global_head_dim": Field(("global_head_dim",), _DIM),
    "sliding_kv_heads": Field(("swa_num_key_value_heads",), _HEADS),
    "sliding_head_dim": Field(("swa_head_dim",), _DIM),
    "sliding_v_head_dim": Field(("swa_v_head_dim",), _DIM),
    # latent attention
    "kv_lora_rank": Field(("kv_lora_rank",), _DIM, zero_is_none=True),
    "rope_dim": Field(("qk_rope_head_dim",), _DIM),
    "nope_dim": Field(("qk_nope_head_dim",), _DIM),
    "index_dim": Field(("index_head_dim",), _DIM),
    "index_every": Field(("index_topk_freq",), 2_000),
    "index_offset": Field(("index_skip_topk_offset",), 2_000),
    # windows and sharing
    "window": Field(("sliding_window", "sliding_window_size", "attention_window_size"), _TOKENS, zero_is_none=True),
    "chunk": Field(("attention_chunk_size",), _TOKENS, zero_is_none=True),
    "full_every": Field(("sliding_window_pattern", "_sliding_window_pattern"), 2_000),
    "shared_layers": Field(("num_kv_shared_layers",), 2_000, zero_is_none=True),
    "share_factor": Field(("cla_share_factor",), 2_000),
    # fixed states
    "ssm_heads": Field(("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads"), _DIM),
    "ssm_head_dim": Field(("mamba_head_dim", "mamba_d_head", "mamba_headdim", "head_dim"), _DIM),
    "ssm_groups": Field(("mamba_n_groups", "mamba_ngroups", "n_groups"), _DIM),
    "ssm_state": Field(("ssm_state_size", "mamba_d_state", "state_size"), _DIM),
    "ssm_conv": Field(("mamba_d_conv", "conv_kernel"), 1_024),
    "ssm_inner": Field(("mamba_d_ssm",), 1_000_000),
    "ssm_expand": Field(("mamba_expand", "expand"), 1_024),
    "linear_k_heads": Field(("linear_num_key_heads",), _HEADS),
    "linear_v_heads": Field(("linear_num_value_heads",), _HEADS),
    "linear_k_dim": Field(("linear_key_head_dim",), _DIM),
    "linear_v_dim": Field(("linear_value_head_dim",), _DIM),
    "linear_conv": Field(("linear_conv_kernel_dim",), 1_024),
    "kda_heads": Field(("linear_attn_config.num_heads",), _HEADS),
    "kda_dim": Field(("linear_attn_config.head_dim",), _DIM),
    "kda_conv": Field(("linear_attn_config.short_conv_kernel_size",), 1_024),
    "short_conv": Field(("conv_L_cache",), 1_024),
    "short_conv_dim": Field(("conv_dim",), 1_000_000),
    "lru_width": Field(("lru_width",), 1_000_000),
    "lru_conv": Field(("conv1d_width",), 1_024),
    # encoders and images
    "source_tokens": Field(("max_source_positions", "max_position_embeddings", "n_positions"), _TOKENS),
    "image_size": Field(("vision_config.image_size",), 1_000_000),
    "patch_size": Field(("vision_config.patch_size",), 1_000_000),
    "image_tiles": Field(("vision_config.max_num_tiles",), 1_000),
    # draft modules, limits
    "draft_layers": Field(
        ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"), 64, zero_is_none=True
    ),
    "max_context": Field(("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length"), _TOKENS),
}


@dataclass(frozen=True)
class Family:
    """A model type: what its class assumes when the config is silent, and where it departs from the plain reading.

    Attributes:
        defaults: values by field name, as the transformers class sets them.
        layer_plan: name of the plan in ``patterns`` that no config key announces.
        attentions_per_layer: attention modules in each layer.
        expands_latent: keeps K and V of every head although it has a latent (vLLM 0.32.0).
        window_extra: tokens the engine adds to the window.
        state_dtype: type of the recurrent state when the config names none; the model's when None.
        encoder_decoder: has an encoder even where the config omits ``is_encoder_decoder``.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    layer_plan: str | None = None
    attentions_per_layer: int = 1
    expands_latent: bool = False
    window_extra: int = 0
    state_dtype: str | None = None
    encoder_decoder: bool = False


_PLAIN = (
    "llama mistral ministral ministral3 mixtral gemma phi phi3 phimoe qwen qwen2 qwen2_moe qwen3 qwen3_moe qwen2_vl "
    "qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl_text qwen3_vl_moe_text glm glm4 glm4_moe glm4v_text "
    "glm4v_moe_text internlm2 internlm3 baichuan chatglm gpt2 gpt_neox gptj opt bloom mpt stablelm starcoder2 olmo "
    "olmo2 olmoe cohere granite granitemoe exaone nemotron dbrx arctic ernie4_5 ernie4_5_moe smollm3 apertus "
    "minimax_m2 hunyuan_v1_dense hunyuan_v1_moe hunyuan seed_oss solar orion xverse deepseek dots1 deepseek_v2 "
    "deepseek_v3 deepseek_v32 kimi_k2 glm4_moe_lite glm_moe_dsa mimo mimo_v2_flash afmoe jamba lfm2 lfm2_moe "
    "qwen3_next qwen3_5_text qwen3_5_moe_text bamba granitemoehybrid mllama_text_model kimi_linear "
)

FAMILIES: Mapping[str, Family] = {
    **{name: Family() for name in _PLAIN.split()},
    "falcon": Family(),
    "gpt_bigcode": Family({"multi_query": True}),
    "gemma2": Family({"full_every": 2, "window": 4096}),
    # published Gemma 3 configs leave these out and lean on the class
    "gemma3_text": Family({"heads": 8, "kv_heads": 4, "head_dim": 256, "full_every": 6, "window": 4096}),
    "gemma3n_text": Family({"full_every": 5}),
    "gemma4_text": Family({"global_head_dim": 512, "full_every": 6, "attention_k_eq_v": False}),
    "gpt_oss": Family({"full_every": 2}),
    # Cohere's window leaves out the token itself; vLLM adds it
    "cohere2": Family({"full_every": 4}, window_extra=1),
    "olmo3": Family({"full_every": 4}),
    "exaone4": Family({"full_every": 4}),
    "llama4_text": Family({"chunk": 8192}),
    "minicpm3": Family(expands_latent=True),
    "longcat_flash": Family(attentions_per_layer=2),
    "falcon_h1": Family(layer_plan="attention_beside_state"),
    "mamba": Family(layer_plan="state_only"),
    "mamba2": Family(layer_plan="state_only"),
    "falcon_mamba": Family(layer_plan="state_only"),
    "nemotron_h": Family(state_dtype="fp32"),
    "zamba2": Family(),
    "recurrent_gemma": Family({"window": 2048}, state_dtype="fp32"),
    "minimax": Family(state_dtype="fp32"),
    "minimax_text_01": Family(state_dtype="fp32"),
    "phi4flash": Family({"ssm_state": 16, "ssm_conv": 4, "ssm_expand": 2}, layer_plan="decoder_decoder"),
    "whisper": Family(encoder_decoder=True),
    "bart": Family(encoder_decoder=True),
    "t5": Family(encoder_decoder=True),
}
