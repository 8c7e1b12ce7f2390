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
                yield from _entry(f"{_scalar(key)}:", item, indented=not isinstance(item, list))
        case list() if value:
            for item in value:
                first, *rest = _lines(item)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        case _:
            yield _scalar(value)


def _entry(head: str, item: object, *, indented: bool) -> Iterator[str]:
    if not isinstance(item, dict | list) or not item:
        yield f"{head} {_scalar(item)}"
        return
    yield head
    yield from (f"  {line}" if indented else line for line in _lines(item))


def _scalar(value: object) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        if "'" not in value:
            return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
