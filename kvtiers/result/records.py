"""Frozen dataclasses from JSON, checked on the way in: the one place where a file's fields are trusted.

The type hints are the schema. Names carry units, so a name also says what may be negative: nothing here may, and every
number must be finite.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from kvtiers.errors import KvtiersError
from kvtiers.json_text import read_object

Record = TypeVar("Record")


def read_record(content: str, record_type: type[Record], schema: str, made_by: str) -> Record:
    """A result file's text, checked. ``made_by``: the commands that write such files, for messages.

    Raises:
        KvtiersError: saying what is wrong with it.
    """
    data = read_object(content, "the file")
    if data.get("schema") != schema:
        raise KvtiersError(f"it is not a result of {made_by} ({schema})")
    return from_json(record_type, data)


def from_json(record_type: type[Record], data: object, where: str = "") -> Record:
    """Build ``record_type`` (a dataclass) from parsed JSON. A field with a default may be left out: a file of before it
    was known stays readable.

    Raises:
        KvtiersError: naming the field: missing, unknown, of another type, not finite, negative.
    """
    if not isinstance(data, Mapping):
        raise KvtiersError(f"{where or 'the file'} must be an object, got {_kind(data)}")
    hints = typing.get_type_hints(record_type)
    needed = {field.name for field in dataclasses.fields(record_type) if field.default is dataclasses.MISSING}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise KvtiersError(f"{_join(where, unknown[0])} is not a known field")
    values = {}
    for name, hint in hints.items():
        if name not in data and name not in needed:
            continue
        if name not in data:
            raise KvtiersError(f"{_join(where, name)} is missing")
        values[name] = _value(hint, data[name], _join(where, name))
    return record_type(**values)


def _value(hint: Any, value: object, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in arguments:
            return None
        (inner,) = [argument for argument in arguments if argument is not type(None)]
        return _value(inner, value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise KvtiersError(f"{where} must be a list, got {_kind(value)}")
        return tuple(_value(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is dict:
        if not isinstance(value, Mapping):
            raise KvtiersError(f"{where} must be an object, got {_kind(value)}")
        return {str(key): _value(arguments[1], item, _join(where, str(key))) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        return from_json(typing.cast(type, hint), value, where)
    return _scalar(hint, value, where)


def _scalar(hint: Any, value: object, where: str) -> Any:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        try:
            return hint(str(value))
        except ValueError:
            names = ", ".join(member.value for member in hint)
            raise KvtiersError(f"{where} must be one of {names}, got {value!r}") from None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise KvtiersError(f"{where} must be {_NAMES[hint]}, got {_kind(value)}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise KvtiersError(f"{where} must be a finite number, got {value}")
        if value < 0:
            raise KvtiersError(f"{where} must not be negative, got {value}")
    return value


_NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float, str)):
        return repr(value)
    return "a list" if isinstance(value, list) else "an object"


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
