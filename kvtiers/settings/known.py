"""What LMCache 0.5.6 and vLLM 0.32.0 know by name; the tables are in lmcache_settings.toml."""

import difflib
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from kvtiers.tables import read_table


def _table(name: str) -> dict[str, Any]:
    entry: dict[str, Any] = read_table("settings/lmcache_settings.toml")[name]
    return entry


def _names(table: str, key: str = "names") -> frozenset[str]:
    return frozenset(_table(table)[key])


still_read = partial(_names, "still_read")
"""Old settings that LMCache still honours; it drops the other old names."""
other_variables = partial(_names, "other_variables")
"""LMCACHE_ variables, without the prefix, that are not settings."""
remote_schemes = partial(_names, "remote", "schemes")
"""What may stand before ``://`` in remote_url."""
remote_plugins = partial(_names, "remote", "plugins")
"""Kinds of remote_storage_plugins, what stands before the dot of a plugin's name."""
hash_names = partial(_names, "hash")
"""Values of pre_caching_hash_algorithm that vLLM resolves, and builtin."""
connectors = partial(_names, "vllm", "connectors")
"""KV connectors that vLLM registers."""
l2_adapters = partial(_names, "l2", "adapters")
"""Types of an LMCache server's L2 adapter."""
server_options = partial(_names, "server", "options")
"""Options of ``lmcache server``, without dashes."""
mp_keys = partial(_names, "mp", "keys")
"""What LMCacheMPConnector reads behind ``lmcache.mp.`` in kv_connector_extra_config."""


@cache
def kinds() -> dict[str, str]:
    """Setting -> how LMCache reads it: bool, int, float, str, path, list or json."""
    return {name: kind for kind, names in _table("kinds").items() for name in names}


def renamed() -> dict[str, str]:
    """Old setting -> new one."""
    return dict(_table("renamed"))


def offloading_keys() -> frozenset[str]:
    """What OffloadingConnector looks up in kv_connector_extra_config."""
    return frozenset(_table("vllm")["offloading"]["keys"])


def offloading_tiers() -> dict[str, tuple[list[str], list[str]]]:
    """Secondary tier -> the keys it requires, and the optional ones; none of either: any."""
    table = _table("vllm")["offloading"]
    return {tier: (keys, table["optional"][tier]) for tier, keys in table["required"].items()}


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The known name most like ``name``; empty where none is."""
    return next(iter(difflib.get_close_matches(name, sorted(candidates), n=1, cutoff=0.6)), "")
