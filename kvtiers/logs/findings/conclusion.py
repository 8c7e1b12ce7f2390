"""What is said of a log: an id of the doctor's texts with its values."""

from dataclasses import dataclass, field
from typing import Any

from kvtiers.words import text, values_in


@dataclass(frozen=True)
class Conclusion:
    """An id of the doctor's texts (``log.conclusion.<id>``) with its values."""

    id: str
    values: dict[str, Any] = field(default_factory=dict)

    def what(self, language: str = "en") -> str:
        return text(f"log.conclusion.{self.id}.what", language, self.values)

    def next_step(self, language: str = "en") -> str:
        return text(f"log.conclusion.{self.id}.next", language, self.values)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        return {
            "id": self.id,
            "values": values_in(language, self.values),
            "what": self.what(language),
            "next": self.next_step(language),
        }
