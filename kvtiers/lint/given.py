"""What is given: texts to check, and what they say of one deployment."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """A text to check and what to call it; the name's ending tells its kind where it has one."""

    name: str
    text: str


@dataclass(frozen=True)
class Value:
    """A setting, variable or option as written. ``literal``: not filled in by a variable we cannot see."""

    value: Any
    source: str
    line: int
    literal: bool = True


@dataclass
class ServeCommand:
    """One ``vllm serve``: options by their name without dashes, its environment; ``published``: compose's ports."""

    source: str
    line: int
    options: dict[str, Value] = field(default_factory=dict)
    environment: dict[str, Value] = field(default_factory=dict)
    published: list[str] | None = None


@dataclass
class Given:
    """Everything the inputs said."""

    servers: list[ServeCommand] = field(default_factory=list)
    environment: dict[str, Value] = field(default_factory=dict)  # outside any server: .env files, exports alone
    files: list[dict[str, Value]] = field(default_factory=list)  # each lmcache.yaml
    versions: dict[str, Value] = field(default_factory=dict)
    platform: str = ""  # cpu, where vLLM's package or image says so
    lmcache_server: bool = False


def read_json(text: Any) -> Any:
    """What ``text`` holds.

    Raises:
        ValueError: where that is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
