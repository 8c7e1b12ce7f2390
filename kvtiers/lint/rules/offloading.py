"""Rules about vLLM's own offloading: its connector, spec and tiers. Source: vLLM 0.32.0, vllm/v1/kv_offload."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Value
from kvtiers.lint.setup import Setup, extra_of
from kvtiers.settings import known

_TIERING, _CPU_ONLY = "TieringOffloadingSpec", "CPUOffloadingSpec"


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about each server's OffloadingConnector."""
    for setup in setups:
        place, speculative = setup.connector_at, setup.option("speculative-config")
        drafts = speculative and not re.search("ngram|suffix", str(speculative.value))  # which have no layers
        if speculative and drafts and "OffloadingConnector" in setup.connector_names:
            yield at("offloading_speculative", speculative, certain=False)
        if place is None or setup.connector_error is not None:
            continue
        for connector in setup.connectors:
            if connector.get("kv_connector") == "OffloadingConnector":
                sized_elsewhere = "kv-offloading-size" in setup.server.options
                for finding in _spec(extra_of(connector), place, sized_elsewhere):
                    yield replace(finding, certain=finding.certain and setup.knows("vllm"))


def _spec(extra: dict[str, Any], place: Value, sized_elsewhere: bool) -> Iterator[Finding]:
    spec = str(extra.get("spec_name") or _CPU_ONLY)
    if extra.get("spec_module_path"):
        return
    if spec not in (_TIERING, _CPU_ONLY):
        near = known.nearest(spec, (_TIERING, _CPU_ONLY)) or _TIERING
        yield at("unknown_spec", place, name=spec, nearest=near)
    if not extra.get("cpu_bytes_to_use"):
        yield at("offloading_cpu_bytes", place, spec=spec)
    elif not sized_elsewhere and not _is_count(extra["cpu_bytes_to_use"]):
        yield at("offloading_bytes_unread", place, written=str(extra["cpu_bytes_to_use"]))
    for key in (key for key in extra if key not in known.offloading_keys()):
        near = known.nearest(key, known.offloading_keys())
        yield at("unknown_offloading_key", place, bool(near), name=key, nearest=near or "-")
    tiers = extra.get("secondary_tiers")
    if tiers and spec == _CPU_ONLY:
        yield at("tiers_unread", place)
    for tier in tiers if isinstance(tiers, list) else []:
        if isinstance(tier, dict) and not tier.get("module_path"):
            yield from _tier(tier, place)


def _is_count(value: Any) -> bool:
    """Does int() take it, as vLLM asks; or can nobody tell?"""
    try:
        return int(value) > 0
    except (TypeError, ValueError, OverflowError):
        return "$" in str(value)


def _tier(tier: dict[str, Any], place: Value) -> Iterator[Finding]:
    kind, tiers = str(tier.get("type") or "-"), known.offloading_tiers()
    if kind not in tiers:
        near = known.nearest(kind, tiers) or next((name for name in tiers if name in kind), "-")
        yield at("unknown_tier", place, name=kind, known=", ".join(sorted(tiers)), nearest=near)
        return
    required, taken = tiers[kind]
    for key in (key for key in required if key not in tier):
        yield at("tier_key_missing", place, tier=kind, name=key)
    for key in tier:
        if taken and key not in ("type", "backpressure", *required, *taken):
            near = known.nearest(key, [*required, *taken]) or "-"
            yield at("unknown_tier_key", place, tier=kind, name=key, nearest=near)
    if kind == "fs":
        yield at("drive_unbounded", place, certain=False, path=str(tier.get("root_dir", "-")))
