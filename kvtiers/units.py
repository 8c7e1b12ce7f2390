"""Units. KV sizes are binary (GiB); drive and memory bandwidths are decimal (GB/s).

Dividing one by the other as if they were equal is a 7 % error, so every name here says which it is.
"""

from kvtiers.errors import KvtiersError

KIB = 1024
MIB = 1024**2
GIB = 1024**3
GB = 10**9

_BINARY = (("PiB", 1024**5), ("TiB", 1024**4), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
# What three digits round up to the next unit is said in it: "1 s", not "1,000 ms".
_ROUNDS_UP = 0.9995
# Name, seconds in one, and from how many seconds on.
_TIMES = (
    ("h", 3600.0, 7200.0),
    ("min", 60.0, 1200.0),
    ("s", 1.0, _ROUNDS_UP),
    ("ms", 1e-3, _ROUNDS_UP * 1e-3),
    ("µs", 1e-6, _ROUNDS_UP * 1e-6),
)


def format_bytes(size_bytes: float) -> str:
    """A size for people, in binary units: ``format_bytes(131072) == "128 KiB"``."""
    for name, factor in _BINARY:
        if abs(size_bytes) >= _ROUNDS_UP * factor:
            return f"{_three_digits(size_bytes / factor)} {name}"
    return f"{size_bytes:.0f} B"


def format_count(count: float) -> str:
    """A count for people, in thousands and millions: ``format_count(45776) == "45.8k"``."""
    for name, factor in (("M", 10**6), ("k", 10**3)):
        if abs(count) >= _ROUNDS_UP * factor:
            return f"{_three_digits(count / factor)}{name}"
    return _three_digits(count)


def format_seconds(time_s: float) -> str:
    """A duration for people: ``format_seconds(0.0193) == "19.3 ms"``."""
    for name, factor, least in _TIMES:
        if abs(time_s) >= least:
            return f"{_three_digits(time_s / factor)} {name}"
    return "0 s" if time_s == 0 else f"{time_s / 1e-6:.2f} µs"


def format_times(ratio: float) -> str:
    """How many times, for people: ``format_times(11.44) == "11.4x"``."""
    if abs(ratio) >= 10_000:
        return f"{format_count(ratio)}x"
    if 0 < ratio < 0.001:
        return "< 0.001x"
    magnitude = abs(ratio)
    decimals = 3 if magnitude < 0.1 else 2 if magnitude < 2 else 1 if magnitude < 100 else 0
    return f"{_no_zeros(f'{ratio:,.{decimals}f}')}x"


def positive(name: str, value: float) -> float:
    """``value`` if it is a finite number above zero; the error names it otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise KvtiersError(f"{name} must be a number above 0, got {value!r}")
    return value


def _three_digits(value: float) -> str:
    """Three significant digits, no exponent, no trailing zeros after the point."""
    magnitude = abs(value)
    decimals = 2 if magnitude < 10 else 1 if magnitude < 100 else 0
    return _no_zeros(f"{value:,.{decimals}f}")


def _no_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
