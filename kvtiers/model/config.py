"""Reading config.json: the text model inside it, its numbers by any of their names, and errors that name the key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from kvtiers.errors import KvtiersError
from kvtiers.json_text import read_object
from kvtiers.model.families import FAMILIES, FIELDS, Family
from kvtiers.words.message import Message

# Where multimodal configs keep their language model, outermost first.
_NESTED = ("thinker_config", "text_config", "language_config", "llm_config")

Item = TypeVar("Item", int, str)


def parse_config(text: str) -> dict[str, Any]:
    """A config.json's text as a mapping."""
    return read_object(text, "config.json")


def read_config(source: str) -> dict[str, Any]:
    """The config at a path (a file, or a model's folder), or in the text itself when it starts with ``{``."""
    if source.lstrip().startswith("{"):
        return parse_config(source)
    path = Path(source)
    if path.is_dir():
        path = path / "config.json"
    try:
        return parse_config(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise KvtiersError(f"cannot read {path}: {error}") from error


class ModelConfig:
    """A config with its language model found and its numbers checked.

    ``number("kv_heads")`` is the value, ``key("kv_heads")`` the config key that gave it, ``text_config.num_kv_heads``
    say; ``warnings`` tells what had to be assumed.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._levels = _nested_levels(config)
        self.warnings: list[Message] = []
        model_type = self.value("model_type")
        self.model_type = model_type if isinstance(model_type, str) else "unknown"
        # a wrapper's name where the language model inside has none of its own: gemma3 holds gemma3_text
        family = FAMILIES.get(self.model_type) or FAMILIES.get(f"{self.model_type}_text")
        self.known = family is not None
        self.family = family or Family()

    def value(self, key: str) -> Any:
        """What stands under ``key`` (dots reach into objects), the language model's own first; None if nothing."""
        return self._find(key)[1]

    def key(self, field: str) -> str:
        """The config key that holds ``field``, with the path to it; the class's default says so."""
        for name in FIELDS[field].keys:
            path, value = self._find(name)
            if value is not None:
                return path
        return f"{FIELDS[field].keys[0]} (default of {self.model_type})"

    def keys(self, *fields: str) -> tuple[str, ...]:
        """The keys of those of ``fields`` that have a value."""
        return tuple(self.key(field) for field in fields if self.optional(field) is not None)

    def number(self, field: str) -> int:
        """The whole number ``field``.

        Raises:
            KvtiersError: when no key holds it, or what it holds is null, not a whole number above 0, or absurdly large.
        """
        value = self.optional(field)
        if value is None:
            names = FIELDS[field].keys
            also = f" (nor {', '.join(names[1:])})" if len(names) > 1 else ""
            raise KvtiersError(f"config.json: {names[0]} must be a whole number above 0, got nothing{also}")
        return value

    def optional(self, field: str) -> int | None:
        """``number(field)``, or the class's default, or None when the config leaves it out or null."""
        for name in FIELDS[field].keys:
            path, value = self._find(name)
            if value == 0 and FIELDS[field].zero_is_none and not isinstance(value, bool):
                return None
            if value is not None:
                return _whole_number(path, value, FIELDS[field].maximum)
        default = self.family.defaults.get(field)
        if default is not None:
            self.warn("default_used", key=FIELDS[field].keys[0], default=default, model_type=self.model_type)
        return default

    def flag(self, key: str) -> bool | None:
        """The switch under ``key``, or the class's default, or None."""
        path, value = self._find(key)
        if value is None:
            value = self.family.defaults.get(key)
        if value is not None and not isinstance(value, bool):
            raise KvtiersError(f"config.json: {path} must be true or false, got {value!r}")
        return value

    def listed(self, key: str, kind: type[Item]) -> list[Item] | None:
        """The list of whole numbers or of names under ``key``; None when there is none or it is empty."""
        path, value = self._find(key)
        if value is None or value == []:
            return None
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            what = "whole numbers" if kind is int else "names"
            raise KvtiersError(f"config.json: {path} must be a list of {what}, got {value!r}")
        return [kind(item) for item in value]

    def path(self, key: str) -> str:
        """``key`` with the path to it."""
        return self._find(key)[0]

    def warn(self, name: str, /, **values: Any) -> None:
        """Note an assumption, once; its words are ``model.NAME``."""
        message = Message(f"model.{name}", values)
        if message not in self.warnings:
            self.warnings.append(message)

    def _find(self, key: str) -> tuple[str, Any]:
        for prefix, level in self._levels:
            value: Any = level
            for step in key.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            if value is not None:
                return prefix + key, value
        return self._levels[0][0] + key, None


def _nested_levels(config: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The levels of a config with the path to each, innermost first: the language model's own keys win."""
    levels: list[tuple[str, Mapping[str, Any]]] = [("", config)]
    for name in _NESTED:
        prefix, level = levels[0]
        inner = level.get(name)
        if inner is None:
            continue
        if not isinstance(inner, Mapping):
            raise KvtiersError(f"config.json: {prefix}{name} must be an object, got {inner!r}")
        levels.insert(0, (f"{prefix}{name}.", inner))
    return levels


def _whole_number(path: str, value: object, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise KvtiersError(f"config.json: {path} must be a whole number above 0, got {value!r}")
    if value > maximum:
        raise KvtiersError(f"config.json: {path} must be at most {maximum:,}, got {value:,}")
    return value
