"""What the linter found: an id, where, and the values its words need. Never a secret."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kvtiers.lint.given import Invocation, Value
from kvtiers.tables import read_table
from kvtiers.words import LANGUAGES, text, values_in


class Severity(StrEnum):
    """ERROR: it does not work. WARNING: it works, but not as meant. NOTE: know this."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


RULES: dict[str, dict[str, Any]] = read_table("lint/rules.toml")


@dataclass(frozen=True)
class Finding:
    """One thing to put right, at ``line`` of ``source`` (counted from 1; 0: the input as a whole).

    ``what`` is wrong, ``why`` it matters and what to do (``fix``), each a sentence or two. Not ``certain``: what
    decides it was not given, so it may well be right.
    """

    id: str
    source: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    certain: bool = True

    @property
    def severity(self) -> Severity:
        return Severity(RULES[self.id]["severity"])

    @property
    def label(self) -> str:
        """Its severity, or that nobody can tell: an id of words."""
        return self.severity.value if self.certain else "unseen"

    @property
    def lesson(self) -> str:
        """The page of the course that explains it, by its folder's name."""
        return str(RULES[self.id]["lesson"])

    def what(self, language: str = "en") -> str:
        return self._said("what", language)

    def why(self, language: str = "en") -> str:
        return self._said("why", language)

    def fix(self, language: str = "en") -> str:
        return self._said("fix", language)

    def _said(self, part: str, language: str) -> str:
        return text(f"finding.{self.id}.{part}", language, self.values)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """Everything, words included."""
        own = {name: getattr(self, name) for name in ("id", "severity", "certain", "source", "line")}
        words = {part: self._said(part, language) for part in ("what", "why", "fix")}
        return {**own, "values": values_in(language, self.values), **words, "lesson": self.lesson}


def at(rule: str, place: Value | Invocation, certain: bool = True, **values: Any) -> Finding:
    """A finding where a value is written, or where a server starts."""
    return Finding(rule, place.source, place.line, values, certain)


def said(key: str) -> dict[str, str]:
    """A phrase for a finding's values, in each language."""
    return {language: text(key, language, {}) for language in LANGUAGES}
