"""``kvtiers size CONFIG``: the KV of a model, layer by layer, and what an engine reserves for it."""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from kvtiers.commands.arguments import language_argument
from kvtiers.model import KV_DTYPES, KvSpec, LayerSpec, Reservation, VllmOptions, kv_spec, read_config, reserve
from kvtiers.model.vllm import BATCHED_TOKENS
from kvtiers.units import format_bytes
from kvtiers.words import columns, labelled, text
from kvtiers.words.message import Message

Say = Callable[..., str]

_DEFAULTS = VllmOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="config.json: a path, a model's folder, or the text itself")
    parser.add_argument("--context", type=int, metavar="N", help="tokens per sequence; the model's longest by default")
    parser.add_argument("--users", type=int, default=1, metavar="N", help="sequences kept at once")
    parser.add_argument("--kv-dtype", metavar="TYPE", help=f"one of {', '.join(KV_DTYPES)}; the config's by default")
    parser.add_argument("--tp", type=int, default=1, metavar="N", help="tensor-parallel ranks")
    parser.add_argument("--pp", type=int, default=1, metavar="N", help="pipeline-parallel stages")
    parser.add_argument("--draft-layers", action="store_true", help="count multi-token-prediction layers too")
    parser.add_argument("--engine", choices=["vllm"], default="vllm", help="whose reservation rules to apply")
    parser.add_argument("--block-size", type=int, default=_DEFAULTS.block_size, metavar="N", help="tokens per block")
    parser.add_argument(
        "--max-num-batched-tokens",
        type=int,
        default=_DEFAULTS.max_num_batched_tokens,
        metavar="N",
        help="the engine's setting: a windowed layer reserves for tokens in flight",
    )
    parser.add_argument(
        "--hybrid-manager",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="vLLM's hybrid KV cache manager; with LMCacheConnectorV1 it is off, LMCacheMPConnector keeps it",
    )
    parser.add_argument("--chunk-size", type=int, default=256, metavar="N", help="tokens per chunk of the tier below")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(options: argparse.Namespace) -> str:
    spec = kv_spec(read_config(options.config), options.kv_dtype, draft_layers=options.draft_layers)
    engine = VllmOptions(
        block_size=options.block_size,
        hybrid_manager=options.hybrid_manager,
        max_num_batched_tokens=options.max_num_batched_tokens,
    )
    reservation = reserve(spec, engine, tp=options.tp, pp=options.pp)
    context_tokens = spec.max_context or 4096 if options.context is None else options.context
    numbers = size(spec, reservation, context_tokens, options.users, options.chunk_size, language=options.language)
    if options.json:
        return json.dumps(numbers, indent=2, ensure_ascii=False)
    return _text(spec, numbers, options.language)


def size(
    spec: KvSpec,
    reservation: Reservation,
    context_tokens: int,
    users: int = 1,
    chunk_tokens: int = 256,
    *,
    language: str = "en",
) -> dict[str, Any]:
    """All numbers of the command, by the names its ``--json`` uses. Bytes are sums over all ranks, but ``rank_*``."""
    warnings = [*spec.warnings, *reservation.warnings]
    if spec.max_context is not None and context_tokens > spec.max_context:
        warnings.append(Message("model.long_context", {"context": context_tokens, "longest": spec.max_context}))
    return {
        "model_type": spec.model_type,
        "kv_dtype": spec.kv_dtype,
        "context_tokens": context_tokens,
        "users": users,
        "bytes_per_token": spec.bytes_per_token,
        "undropped_bytes_per_token": spec.undropped_bytes_per_token,
        "fixed_bytes_per_sequence": spec.fixed_bytes_per_sequence,
        "kept_bytes": spec.kept_bytes(context_tokens, users, reservation.tp),
        "reserved_bytes": reservation.reserved_bytes(context_tokens, users),
        "rank_reserved_bytes": reservation.rank_reserved_bytes(context_tokens, users),
        "engine": reservation.engine,
        "engine_rule": reservation.rule.text(language),
        "engine_settings": asdict(reservation.options),
        "reserved_bytes_by_batched_tokens": {
            str(tokens): _batching(reservation, tokens).reserved_bytes(context_tokens, users)
            for tokens in BATCHED_TOKENS
        },
        "hit_granularity_tokens": reservation.hit_granularity_tokens,
        "smallest_engine_hit_tokens": reservation.smallest_hit_tokens(),
        "smallest_tier_hit_tokens": reservation.smallest_hit_tokens(chunk_tokens),
        "layers": [_layer(layer) for layer in spec.layers],
        "config_keys": list(spec.config_keys),
        "warnings": [warning.text(language) for warning in warnings],
    }


def _batching(reservation: Reservation, tokens: int) -> Reservation:
    """The same with another ``--max-num-batched-tokens``, which windowed layers alone depend on."""
    return replace(reservation, options=replace(reservation.options, max_num_batched_tokens=tokens))


def _layer(layer: LayerSpec) -> dict[str, Any]:
    return {
        "index": layer.index,
        "kind": layer.kind.value,
        "bytes_per_token": layer.bytes_per_token(),
        "fixed_bytes": layer.fixed_bytes(),
        "window": layer.window,
        "shares_with": layer.shares_with,
        "keys": list(layer.keys),
    }


def _text(spec: KvSpec, numbers: dict[str, Any], language: str) -> str:
    def say(name: str, **values: object) -> str:
        return text(f"size.{name}", language, values)

    said = {"users": numbers["users"], "context": numbers["context_tokens"], "engine": numbers["engine"]}
    sizes = ("bytes_per_token", "undropped_bytes_per_token", "fixed_bytes_per_sequence", "kept_bytes", "reserved_bytes")
    rows = [
        (say("model"), say("kv_as", model_type=numbers["model_type"], kv_dtype=numbers["kv_dtype"])),
        *((say(name, **said), _bytes(numbers[name])) for name in sizes),
        *((f"  {name}", value) for name, value in _reserved(numbers, say)),
        (say("shortest"), say("own_hit", tokens=numbers["smallest_engine_hit_tokens"])),
        ("", say("tier_hit", tokens=numbers["smallest_tier_hit_tokens"])),
    ]
    width = max(columns(name) for name, _ in rows)
    lines = [f"{name}{' ' * (width - columns(name))}  {value}" for name, value in rows]
    lines += ["", say("layers"), *_layer_lines(spec.layers, say)]
    lines += [labelled(say("warning"), warning, language) for warning in numbers["warnings"]]
    return "\n".join(lines)


def _reserved(numbers: dict[str, Any], say: Say) -> Iterable[tuple[str, str]]:
    """By which rule, and on which settings of the engine it rests; where they matter, what others make of it."""
    yield say("rank_reserved_bytes"), _bytes(numbers["rank_reserved_bytes"])
    yield say("rule"), numbers["engine_rule"]
    settings = numbers["engine_settings"]
    tokens, batches = settings["max_num_batched_tokens"], settings["concurrent_batches"]
    yield say("settings"), say("assumed", block_size=settings["block_size"], tokens=tokens, batches=batches)
    others = numbers["reserved_bytes_by_batched_tokens"]
    if len(set(others.values())) > 1:
        for other, from_gib in BATCHED_TOKENS.items():
            card = "from_gib" if from_gib else "smaller_gpus"
            yield say("batched", tokens=other), say(card, size=_bytes(others[str(other)]), gib=from_gib)


def _layer_lines(layers: Iterable[LayerSpec], say: Say) -> Iterable[str]:
    """One line for each way of keeping, with the layers that use it and the keys that say so."""
    alike: dict[tuple[object, ...], list[LayerSpec]] = {}
    for layer in layers:
        alike.setdefault((layer.kind, layer.keys, layer.window, layer.shares_with), []).append(layer)
    lines = []
    for same in alike.values():
        first = same[0]
        per_token, fixed = first.bytes_per_token(), first.fixed_bytes()
        parts = [f"{len(same)} x {first.kind}"]
        if per_token and not first.source_tokens:
            parts.append(say("layer.per_token", bytes=per_token))
        if first.window:
            parts.append(say("layer.window", tokens=first.window))
        if fixed:
            parts.append(say("layer.fixed", bytes=fixed))
        if first.shares_with is not None:
            parts.append(say("layer.shares_with", index=first.shares_with))
        lines.append((first.index, f"  {' · '.join(parts)}  [{', '.join(first.keys)}]"))
    return [line for _, line in sorted(lines)]


def _bytes(value: int) -> str:
    return f"{value:,} B ({format_bytes(value)})" if value >= 1024 else f"{value} B"
