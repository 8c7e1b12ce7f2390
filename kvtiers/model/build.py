"""The specs of a model's layers, from its config."""

from dataclasses import replace

from kvtiers.errors import KvtiersError
from kvtiers.model.config import ModelConfig
from kvtiers.model.dtypes import PACKED_MLA_BYTES, KvDtype, kv_dtype_named
from kvtiers.model.layers import WINDOWED, LayerKind, LayerSpec, Pieces
from kvtiers.model.patterns import LayerPlan, layer_plan
from kvtiers.model.states import state_parts

# vLLM 0.32.0's indexer keeps fp8 keys with one fp32 scale per 128 values, whatever the KV type.
_INDEXER_DTYPE = KvDtype("fp8 indexer", 8, scale_bytes=4, group=128)

_STATE_DTYPE_KEYS = ("mamba_ssm_cache_dtype", "mamba_ssm_dtype")


class LayerBuilder:
    """Turns a plan's kinds into specs; holds what all layers of a model have in common."""

    def __init__(self, model: ModelConfig, dtype: KvDtype, weights_dtype: KvDtype, state_dtype: str | None) -> None:
        self._model = model
        self._dtype = dtype
        self._conv_bytes = weights_dtype.vector_bytes(1)
        self._state_dtype = state_dtype

    def decoder(self, draft_layers: bool) -> list[LayerSpec]:
        """The layers of a decoder, and its draft layers if asked for."""
        plan = layer_plan(self._model)
        cross = self._cross_layers(len(plan.kinds))
        specs: list[LayerSpec] = []
        for index, kinds in enumerate(plan.kinds):
            if index in cross:
                specs.append(self._image_cross_attention(index))
            else:
                specs += [spec for kind in kinds for spec in self._layer(index, kind, plan)]
        return specs + (self._draft(len(plan.kinds)) if draft_layers else [])

    def encoder_decoder(self) -> list[LayerSpec]:
        """Self-attention and cross-attention of each decoder layer; the encoder keeps nothing."""
        model = self._model
        layers, source = model.number("decoder_layers"), model.number("source_tokens")
        parts, keys = self._heads()
        keys = (model.key("decoder_layers"), *keys)
        of_text = LayerSpec(0, LayerKind.FULL, keys, token_parts=parts)
        of_source = LayerSpec(0, LayerKind.CROSS, (*keys, model.key("source_tokens")), parts, source_tokens=source)
        return [replace(spec, index=index) for index in range(layers) for spec in (of_text, of_source)]

    def _layer(self, index: int, kind: LayerKind, plan: LayerPlan) -> list[LayerSpec]:
        model = self._model
        if kind is LayerKind.STATE:
            return [self._state(index, plan.keys)]
        if kind in WINDOWED:
            parts, keys = self._heads("sliding_" if kind is LayerKind.SLIDING else "")
            field = "window" if kind is LayerKind.SLIDING else "chunk"
            window = model.number(field) + model.family.window_extra
            all_keys = tuple(dict.fromkeys([*plan.keys, model.key(field), *keys]))
            return [LayerSpec(index, kind, all_keys, token_parts=parts, window=window)]
        if kind is LayerKind.FULL:
            return self._attention(index, plan.keys) * model.family.attentions_per_layer
        return [LayerSpec(index, kind, plan.keys, shares_with=plan.shares_with.get(index))]

    def _attention(self, index: int, keys: tuple[str, ...]) -> list[LayerSpec]:
        """Attention over everything: K and V, or a latent."""
        if self._model.optional("kv_lora_rank") is not None and not self._model.family.expands_latent:
            return self._latent(index, keys)
        parts, head_keys = self._heads("global_")
        return [LayerSpec(index, LayerKind.FULL, (*keys, *head_keys), token_parts=parts)]

    def _heads(self, prefix: str = "") -> tuple[tuple[Pieces, ...], tuple[str, ...]]:
        """K and V of one token: fields of this kind of layer (``global_``, ``sliding_``) before the model's own."""
        model = self._model
        if self._dtype.name in PACKED_MLA_BYTES:
            raise KvtiersError(f"kv_dtype {self._dtype.name} packs a latent, and this model keeps K and V of its heads")
        heads, heads_key = self._kv_heads(prefix)
        if model.family.expands_latent:
            k_dim = v_dim = model.number("nope_dim") + model.number("rope_dim")
            dim_keys = model.keys("nope_dim", "rope_dim")
            model.warn("latent_expanded")
        elif prefix and (own := model.optional(f"{prefix}head_dim")) is not None:
            k_dim = own
            v_dim = (model.optional("sliding_v_head_dim") if prefix == "sliding_" else None) or own
            dim_keys = model.keys(f"{prefix}head_dim", *(["sliding_v_head_dim"] if v_dim != own else []))
        else:
            k_dim, dim_keys = self._head_dim()
            v_dim = model.optional("v_head_dim") or k_dim
            dim_keys += model.keys("v_head_dim")
        piece_bytes = self._dtype.vector_bytes(k_dim) + self._dtype.vector_bytes(v_dim)
        return (Pieces(heads, piece_bytes),), (heads_key, *dim_keys)

    def _kv_heads(self, prefix: str) -> tuple[int, str]:
        """KV heads of a layer and their key: one for multi-query, as many as query heads when nothing says fewer."""
        model = self._model
        heads = model.number("heads")
        if prefix == "global_" and model.flag("attention_k_eq_v") is False:
            prefix = ""
        own = model.optional(f"{prefix}kv_heads") if prefix else None
        if own is not None:
            return own, model.key(f"{prefix}kv_heads")
        # Falcon ignores multi_query in its newer decoder; ChatGLM's flag only switches its group number off.
        if model.flag("multi_query") and not model.flag("new_decoder_architecture"):
            return 1, model.path("multi_query")
        kv_heads = None if model.flag("multi_query_attention") is False else model.optional("kv_heads")
        if kv_heads is None:
            return heads, model.key("heads")
        if heads % kv_heads:
            raise KvtiersError(
                f"config.json: {model.key('kv_heads')} must divide {model.key('heads')} ({heads}), got {kv_heads}"
            )
        return kv_heads, model.key("kv_heads")

    def _head_dim(self) -> tuple[int, tuple[str, ...]]:
        """The head dimension and its keys; hidden / heads is 80 for Qwen3-4B, which says 128."""
        model = self._model
        head_dim = model.optional("head_dim")
        if head_dim is not None:
            return head_dim, model.keys("head_dim")
        hidden, heads = model.number("hidden"), model.number("heads")
        if hidden % heads:
            raise KvtiersError(
                f"config.json: head_dim is missing, and {model.key('hidden')} ({hidden}) is not a multiple of "
                f"{model.key('heads')} ({heads})"
            )
        return hidden // heads, model.keys("hidden", "heads")

    def _latent(self, index: int, keys: tuple[str, ...]) -> list[LayerSpec]:
        """One latent and one rotary key for all heads, and the indexer's keys where attention is sparse."""
        model = self._model
        latent = model.number("kv_lora_rank") + model.number("rope_dim")
        packed = PACKED_MLA_BYTES.get(self._dtype.name)
        if packed is not None and latent != 576:
            raise KvtiersError(f"kv_dtype {self._dtype.name} packs 512 + 64 values, this model has {latent}")
        # vLLM 0.32.0 keeps a pair of scales although there is one vector
        pair = self._dtype.scale_bytes if self._dtype.scale_bytes and not self._dtype.group else 0
        piece_bytes = packed or self._dtype.vector_bytes(latent) + pair
        mla_keys = (*keys, *model.keys("kv_lora_rank", "rope_dim"))
        specs = [LayerSpec(index, LayerKind.MLA, mla_keys, token_parts=(Pieces(1, piece_bytes),))]
        index_dim = model.optional("index_dim")
        if index_dim is not None and self._has_indexer(index):
            part = Pieces(1, _INDEXER_DTYPE.vector_bytes(index_dim))
            specs.append(LayerSpec(index, LayerKind.INDEXER, (*keys, *model.keys("index_dim")), token_parts=(part,)))
        return specs

    def _has_indexer(self, index: int) -> bool:
        """Whether the layer picks tokens itself or takes an earlier layer's choice (GLM-5, vLLM 0.32.0's reading)."""
        model = self._model
        pattern = model.value("index_topk_pattern")
        if isinstance(pattern, str) and index < len(pattern):
            return pattern[index] != "S"
        every = model.optional("index_every")
        offset = model.optional("index_offset") or 2
        layers = model.optional("layers") or 0
        return every is None or index >= layers or max(index - offset + 1, 0) % every == 0

    def _state(self, index: int, keys: tuple[str, ...]) -> LayerSpec:
        model = self._model
        named = next((key for key in _STATE_DTYPE_KEYS if isinstance(model.value(key), str)), None)
        name = self._state_dtype or (model.value(named) if named else None) or model.family.state_dtype
        state_bytes = kv_dtype_named(name, "state_dtype").vector_bytes(1) if name else self._conv_bytes
        recurrence, (parts, part_keys) = state_parts(model, self._conv_bytes, state_bytes)
        dtype_keys = (model.path(named),) if named and not self._state_dtype else ()
        all_keys = (*keys, *part_keys, *dtype_keys)
        return LayerSpec(index, LayerKind.STATE, all_keys, fixed_parts=parts, recurrence=recurrence)

    def _cross_layers(self, layers: int) -> set[int]:
        """Layers that attend to image tokens only (Llama 3.2 Vision)."""
        chosen = self._model.listed("cross_attention_layers", int) or []
        if not all(0 <= index < layers for index in chosen):
            raise KvtiersError(f"config.json: cross_attention_layers names a layer that is not among the {layers}")
        return set(chosen)

    def _image_cross_attention(self, index: int) -> LayerSpec:
        """K and V of all tiles of one image: patches and one class token a tile."""
        model = self._model
        parts, keys = self._heads()
        patches = (model.number("image_size") // model.number("patch_size")) ** 2
        tokens = (patches + 1) * model.number("image_tiles")
        model.warn("image_tokens", tokens=tokens)
        keys = (model.path("cross_attention_layers"), *keys, *model.keys("image_size", "patch_size", "image_tiles"))
        return LayerSpec(index, LayerKind.CROSS, keys, token_parts=parts, source_tokens=tokens)

    def _draft(self, first: int) -> list[LayerSpec]:
        """The multi-token-prediction layers: full attention, or a latent, like the model's own."""
        model = self._model
        count = model.optional("draft_layers")
        if count is None:
            model.warn("no_draft_layers")
            return []
        keys = (model.key("draft_layers"),)
        return [
            replace(spec, draft=True) for index in range(first, first + count) for spec in self._attention(index, keys)
        ]
