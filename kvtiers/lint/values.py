"""A setting's value, from what was written to what LMCache makes of it."""

from collections.abc import Callable
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.given import Value
from kvtiers.lint.yaml_nodes import Node
from kvtiers.settings import known


def convert(name: str, value: Any) -> Any:
    """A setting's value as LMCache converts it.

    Raises:
        ValueError: where LMCache logs that it failed, and goes on without.
    """
    if isinstance(value, Node):
        value = value.plain()
    if isinstance(value, str):
        value = unquoted(value)
    if value is None:
        return None
    return _CONVERTERS.get(known.kinds().get(name, ""), str)(value)


def _bool(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() in ("true", "1")


def _number(kind: type) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        try:
            return kind(value)
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None

    return converted


def _path(value: Any) -> str | None:
    parts = [part.strip() for part in str(value).split(",") if part.strip()]
    return ",".join(part.removeprefix("file://") for part in parts) or None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [part.strip() for part in str(value).split(",") if part.strip()]


def _json(value: Any) -> Any:
    return value if isinstance(value, dict) else read_json(value) if value else None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "bool": _bool,
    "int": _number(int),
    "float": _number(float),
    "path": _path,
    "list": _list,
    "json": _json,
}


def raw_text(value: Value) -> str:
    """A setting as it was written, without quotes around it."""
    plain = value.value.plain() if isinstance(value.value, Node) else value.value
    return unquoted(str(plain)) if plain is not None else ""


def unquoted(text: str) -> str:
    """Without the quotes around it, as LMCache reads its settings."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
