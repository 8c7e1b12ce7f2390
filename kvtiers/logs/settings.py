"""LMCache's settings in force, as its log prints them."""

import ast
import re
import warnings
from functools import lru_cache
from types import NoneType
from typing import Any

SETTINGS = (
    "chunk_size",
    "local_cpu",
    "max_local_cpu_size",
    "local_disk",
    "max_local_disk_size",
    "remote_url",
    "remote_storage_plugins",
    "pre_caching_hash_algorithm",
)
"""The ones that a reader is shown."""
_DEFAULTS: dict[str, tuple[Any, ...]] = {
    "chunk_size": (256,),
    "local_cpu": (True,),
    "max_local_cpu_size": (5.0, "5.0 GB"),
    "local_disk": (None,),
    "remote_url": (None,),
    "remote_storage_plugins": (None, []),
}
_KEPT = 16


@lru_cache(_KEPT)
def settings_of(text: str) -> dict[str, Any]:
    """LMCache prints its settings as a Python dict; ``inf`` is no literal. Sizes of old versions carry a unit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged line is not ours to be warned of
            printed = ast.literal_eval(re.sub(r"(?<=: )inf\b", "None", text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    if not isinstance(printed, dict):
        return {}
    return {name: printed[name] for name in SETTINGS if name in printed and _is_setting(name, printed[name])}


def are_defaults(settings: dict[str, Any]) -> bool:
    """Is nothing set that makes or sizes a tier?"""
    return bool(settings) and all(settings.get(name, values[0]) in values for name, values in _DEFAULTS.items())


def _is_setting(name: str, value: Any) -> bool:
    """Is it of a kind that LMCache prints? A damaged line may hold any literal."""
    if name == "chunk_size":
        return isinstance(value, int)
    return all(isinstance(one, (str, int, float, NoneType)) for one in (value if isinstance(value, list) else [value]))
