"""What is said of a log: an id of the doctor's texts with its values."""

from dataclasses import dataclass, field
from typing import Any

from kvtiers.words import text, values_in

# Of these the words name what is likely, or say what the log does not tell.
_UNCERTAIN = {
    *("same_length_missed", "lost_at_restart", "unknown_error", "perhaps_bad_pair", "hybrid_in_mp", "shm_full"),
    *("out_of_ram", "mp_few_workers", "mp_reaped", "no_reuse", "found_not_loaded", "not_read", "ask_the_server"),
    *("see_the_server", "rates_only", "counters", "counters_read"),
}


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
            "certain": self.id not in _UNCERTAIN,
            "values": values_in(language, self.values),
            "what": self.what(language),
            "next": self.next_step(language),
        }
