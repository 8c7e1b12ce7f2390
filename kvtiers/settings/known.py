"""What LMCache 0.5.6 and vLLM 0.32.0 know by name; the tables are in lmcache_settings.toml."""

import difflib
from collections.abc import Iterable
from functools import cache
from typing import Any

from kvtiers.tables import read_table


def _tables() -> dict[str, Any]:
    return read_table("settings/lmcache_settings.toml")


@cache
def kinds() -> dict[str, str]:
    """Setting -> how LMCache reads it: bool, int, float, str, path, list or json."""
    return {name: kind for kind, names in _tables()["kinds"].items() for name in names}


def renamed() -> dict[str, str]:
    """Old setting -> new one."""
    return dict(_tables()["renamed"])


def still_read() -> frozenset[str]:
    """Old settings that LMCache still honours; it drops the other old names."""
    return frozenset(_tables()["still_read"]["names"])


def other_variables() -> frozenset[str]:
    """LMCACHE_ variables, without the prefix, that are not settings."""
    return frozenset(_tables()["other_variables"]["names"])


def remote_schemes() -> frozenset[str]:
    """What may stand before ``://`` in remote_url."""
    return frozenset(_tables()["remote"]["schemes"])


def remote_plugins() -> frozenset[str]:
    """Kinds of remote_storage_plugins, what stands before the dot of a plugin's name."""
    return frozenset(_tables()["remote"]["plugins"])


def hash_names() -> frozenset[str]:
    """Values of pre_caching_hash_algorithm that vLLM resolves, and builtin."""
    return frozenset(_tables()["hash"]["names"])


def connectors() -> frozenset[str]:
    """KV connectors that vLLM registers."""
    return frozenset(_tables()["vllm"]["connectors"])


def offloading_keys() -> frozenset[str]:
    """What OffloadingConnector looks up in kv_connector_extra_config."""
    return frozenset(_tables()["vllm"]["offloading"]["keys"])


def offloading_tiers() -> dict[str, tuple[list[str], list[str]]]:
    """Secondary tier -> the keys it requires, and the optional ones; none of either: any."""
    table = _tables()["vllm"]["offloading"]
    return {tier: (keys, table["optional"][tier]) for tier, keys in table["required"].items()}


def l2_adapters() -> frozenset[str]:
    """Types of an LMCache server's L2 adapter."""
    return frozenset(_tables()["l2"]["adapters"])


def server_options() -> frozenset[str]:
    """Options of ``lmcache server``, without dashes."""
    return frozenset(_tables()["server"]["options"])


def mp_keys() -> frozenset[str]:
    """What LMCacheMPConnector reads behind ``lmcache.mp.`` in kv_connector_extra_config."""
    return frozenset(_tables()["mp"]["keys"])


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The known name most like ``name``; empty where none is."""
    return next(iter(difflib.get_close_matches(name, sorted(candidates), n=1, cutoff=0.6)), "")
