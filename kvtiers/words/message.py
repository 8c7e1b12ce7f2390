"""A sentence that code decides on and that words say: an id and its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtiers.words import text


@dataclass(frozen=True)
class Message:
    """``id`` names the words, dots between its parts; ``values`` fill their braces.

    >>> Message("model.long_context", {"context": 8192, "longest": 4096}).text("en")
    "a context of 8,192 is longer than the config's 4,096"
    """

    id: str
    values: Mapping[str, Any]

    def text(self, language: str = "en") -> str:
        """The sentence in one of ``kvtiers.words.LANGUAGES``."""
        return text(self.id, language, dict(self.values))
