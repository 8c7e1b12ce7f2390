"""JSON as others wrote it."""

import json
from typing import Any


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
