"""Dictionaries and lists as YAML a person would write; the standard library reads none."""

import json
import re
from collections.abc import Iterator

# What YAML takes for text as it stands, and for nothing else.
_PLAIN = re.compile(r"(?:--)?[A-Za-z/][\w./-]*(?::[\w./-]+)*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def to_yaml(value: object) -> str:
    """``value`` in block style: dictionaries with text keys, lists, printable text, whole numbers, booleans, None."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: object) -> Iterator[str]:
    match value:
        case dict() if value:
            for key, item in value.items():
                if isinstance(item, dict | list) and item:
                    yield f"{_scalar(key)}:"
                    indent = "  " if isinstance(item, dict) else ""
                    yield from (f"{indent}{line}" for line in _lines(item))
                else:
                    yield f"{_scalar(key)}: {_scalar(item)}"
        case list() if value:
            for item in value:
                first, *rest = _lines(item)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case _:
            yield _scalar(value)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        if "'" not in value:
            return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
