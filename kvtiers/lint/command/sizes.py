"""Sizes as Docker and Kubernetes write them, in GiB."""

import re
from typing import Any

from kvtiers.units import GIB

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def docker_gib(text: Any) -> float | None:
    """``64m``, ``16gb``, a number of bytes: binary whatever is written; None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)i?b?", str(text).strip().lower())
    return float(match[1]) * 1024.0 ** _POWERS[match[2]] / GIB if match else None


def kubernetes_gib(text: Any) -> float | None:
    """``40Gi``, ``40G``, a number of bytes; None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGTP]?)(i?)", str(text).strip())
    base = 1024.0 if match and match[3] else 1000.0
    return float(match[1]) * base ** _POWERS[match[2].lower()] / GIB if match else None
