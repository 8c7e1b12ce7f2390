"""A setting's value, from what was written to what LMCache makes of it."""

from collections.abc import Callable
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.given import Value
from kvtiers.settings import known


def convert(name: str, value: Any) -> Any:
    """A setting's value as LMCache converts it.

    Raises:
        ValueError: where LMCache logs that it failed, and goes on without.
    """
    if isinstance(value, str):
        value = unquoted(value)
    if value is None:
        return None
    try:
        return _CONVERTERS.get(known.kinds().get(name, ""), str)(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _path(value: Any) -> str | None:
    return ",".join(part.removeprefix("file://") for part in _parts(value)) or None


def _parts(value: Any) -> list[str]:
    return [part.strip() for part in str(value).split(",") if part.strip()]


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "bool": lambda value: value if isinstance(value, bool) else str(value).strip().lower() in ("true", "1"),
    "int": int,
    "float": float,
    "path": _path,
    "list": lambda value: value if isinstance(value, list) else _parts(value),
    "json": lambda value: value if isinstance(value, dict) else read_json(value) if value else None,
}


def raw_text(value: Value | None) -> str:
    """A setting as it was written, without quotes around it; empty where it is not set."""
    return "" if value is None or value.value is None else unquoted(str(value.value))


def unquoted(text: str) -> str:
    """Without the quotes around it, as LMCache reads its settings."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
