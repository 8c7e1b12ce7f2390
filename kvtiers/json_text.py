"""JSON as others wrote it."""

import json
from typing import Any

from kvtiers.errors import KvtiersError


def read_json(text: Any) -> Any:
    """What ``text`` holds.

    Raises:
        ValueError: where that is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except TypeError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_object(text: str, name: str) -> dict[str, Any]:
    """The JSON object that ``text`` holds; ``name`` is what messages call it.

    Raises:
        KvtiersError: where that is no JSON, or no object.
    """
    try:
        value = read_json(text)
    except ValueError as error:
        raise KvtiersError(f"{name} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise KvtiersError(f"{name} must hold a JSON object, got {type(value).__name__}")
    return value
