"""Shapes to start the engine with: public models, made narrow and shallow so that a CPU holds them.

Layer pattern, KV heads, head dimensions, windows and state sizes stay; hidden size, experts and vocabulary shrink, and
the pattern is cut after a few periods.
"""

from dataclasses import dataclass, field
from typing import Any

from kvtiers.model.public import public_models

_NARROW: dict[str, Any] = {
    "vocab_size": 256,
    "vocab_size_per_layer_input": 256,
    "hidden_size": 128,
    "intermediate_size": 64,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 0,
    "max_position_embeddings": 16384,  # the rotary table of ten million positions takes 40 s
}
_PER_LAYER = ("layer_types", "hybrid_override_pattern", "hybrid_layer_pattern")


@dataclass(frozen=True)
class Case:
    """One start of the engine: a public model's shape, and what to change about it."""

    model: str
    architecture: str
    layers: int
    extra: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model, and the engine arguments that are its own."""
        return " ".join([self.model, *(f"{key}={value}" for key, value in self.arguments.items())])

    @property
    def config(self) -> dict[str, Any]:
        """The narrow, shallow config.json; multimodal models as their language model alone."""
        published = public_models()[self.model]
        config = {
            key: value for key, value in published.items() if not key.endswith("_config") or key == "linear_attn_config"
        }
        config |= published.get("text_config", {})
        for key in _PER_LAYER:
            if key in config:
                config[key] = config[key][: self.layers]
        layers_key = (
            "n_layer" if "n_layer" in config else "num_layers" if "num_layers" in config else "num_hidden_layers"
        )
        if "hidden_size" in config and "num_attention_heads" in config and "multi_query" not in config:
            config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
        narrow = {key: value for key, value in _NARROW.items() if key != "hidden_size" or "n_embd" not in config} | {
            layers_key: self.layers,
            "architectures": [self.architecture],
            "torch_dtype": "bfloat16",
        }
        return {
            key: value
            for key, value in (config | narrow | self.extra).items()
            if value is not None or key == "q_lora_rank"
        }


# Classes that read no head_dim: their heads stay as wide only if hidden / heads does.
_WIDE: dict[str, Any] = {"hidden_size": 3584, "head_dim": None}
_FOUR_HEADS: dict[str, Any] = {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": None}
# The kernel that every CPU has, and the one block size it takes: by itself vLLM prefers another where there is AMX.
_MLA: dict[str, Any] = {"block_size": 16, "attention_backend": "CPU_MLA"}

CASES = (
    Case("Llama-3.1-8B", "LlamaForCausalLM", 4),
    Case("Qwen3-4B", "Qwen3ForCausalLM", 4),
    Case("Qwen2.5-7B", "Qwen2ForCausalLM", 4, _WIDE),
    Case("Mistral-7B-v0.1", "MistralForCausalLM", 4, arguments={"max_model_len": 8192}),
    Case("GLM-4.5", "Glm4MoeForCausalLM", 4),
    Case("Falcon-7B", "FalconForCausalLM", 4, {"hidden_size": 4544, "ffn_hidden_size": 64}),
    Case("GPT-2", "GPT2LMHeadModel", 4, {"n_embd": 768}, {"max_model_len": 1024}),
    Case("DeepSeek-V2-Lite", "DeepseekV2ForCausalLM", 4, {"q_lora_rank": None}, _MLA),
    Case("DeepSeek-V3", "DeepseekV3ForCausalLM", 4, {"q_lora_rank": 64}, _MLA),
    Case("gpt-oss-20b", "GptOssForCausalLM", 24),
    Case("gpt-oss-20b", "GptOssForCausalLM", 24, arguments={"disable_hybrid_kv_cache_manager": True}),
    Case("Gemma-2-9B", "Gemma2ForCausalLM", 4, arguments={"max_model_len": 8192}),
    Case("Gemma-3-27B", "Gemma3ForCausalLM", 14),
    Case("Gemma-3n-E4B", "Gemma3nForCausalLM", 35),
    Case("Gemma-4-31B", "Gemma4ForCausalLM", 6),
    Case(
        "Gemma-4-31B",
        "Gemma4ForCausalLM",
        6,
        arguments={"disable_hybrid_kv_cache_manager": True, "max_model_len": 2048},
    ),
    Case("Gemma-4-E4B", "Gemma4ForCausalLM", 42),
    Case("Command-R7B", "Cohere2ForCausalLM", 8, arguments={"max_model_len": 8192}),
    Case("Llama-4-Scout", "Llama4ForCausalLM", 4, {"intermediate_size_mlp": 64}),
    Case("MiMo-V2-Flash", "MiMoV2FlashForCausalLM", 12, {"moe_layer_freq": [0] * 12, "layernorm_epsilon": 1e-5}),
    Case("Qwen3-Next-80B-A3B", "Qwen3NextForCausalLM", 8),
    Case("Qwen3-Next-80B-A3B", "Qwen3NextForCausalLM", 8, arguments={"enable_prefix_caching": False}),
    Case("Jamba-v0.1", "JambaForCausalLM", 32, _FOUR_HEADS),
    Case("Nemotron-H-8B", "NemotronHForCausalLM", 20),
    Case("Granite-4.0-H-Small", "GraniteMoeHybridForCausalLM", 20, _FOUR_HEADS | {"mamba_n_heads": 16}),
    Case("Falcon-H1-7B", "FalconH1ForCausalLM", 4),
    Case(
        "LFM2-1.2B",
        "Lfm2ForCausalLM",
        16,
        _FOUR_HEADS | {"block_dim": 512, "block_ff_dim": 64, "block_auto_adjust_ff_dim": False},
    ),
    Case("Mamba-Codestral-7B", "Mamba2ForCausalLM", 4, {"num_heads": 4, "intermediate_size": 256}),
)
_ARGUMENTS: dict[str, Any] = {
    "dtype": "bfloat16",
    "block_size": 32,
    "max_model_len": 4096,
    "max_num_batched_tokens": 256,
}


def engine_arguments(case: Case) -> dict[str, Any]:
    """The engine's arguments. Each case has memory of its own size: vLLM logs no line a second time."""
    return _ARGUMENTS | {"kv_cache_memory_bytes": (256 + CASES.index(case)) << 20} | case.arguments
