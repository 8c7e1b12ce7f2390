"""What the linter found: an id, where, and the values its words need. Never a secret."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kvtiers.words import text, values_in


class Severity(StrEnum):
    """ERROR: it does not work. WARNING: it works, but not as meant. NOTE: know this."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE
WIRE, PROVE, OPERATE, PAIRS = "05-wire-it", "06-prove-it", "07-operate-it", "version-pairs"
# id -> (severity, the page of the course that explains it)
RULES = {
    "legacy_connector": (E, WIRE),
    "unknown_connector": (E, WIRE),
    "no_connector": (E, WIRE),
    "plain_server": (W, WIRE),
    "kv_role": (E, WIRE),
    "kv_role_one_way": (E, WIRE),
    "kv_transfer_json": (E, WIRE),
    "load_failure_fail": (W, OPERATE),
    "disk_without_limit": (E, WIRE),
    "limit_without_disk": (W, WIRE),
    "disk_volatile": (W, WIRE),
    "disk_on_system_drive": (W, OPERATE),
    "disk_uri": (E, WIRE),
    "disk_relative": (W, WIRE),
    "disk_larger_than_drive": (E, OPERATE),
    "value_type": (E, WIRE),
    "bool_reads_false": (E, WIRE),
    "staging_zero": (E, WIRE),
    "staging_too_small": (E, WIRE),
    "hash_builtin": (W, OPERATE),
    "hash_unknown": (E, OPERATE),
    "hashseed_unset": (W, OPERATE),
    "chunk_not_multiple": (E, WIRE),
    "chunk_larger_than_prefix": (E, WIRE),
    "file_and_variables": (N, WIRE),
    "file_and_variables_differ": (W, WIRE),
    "unknown_key": (W, WIRE),
    "renamed_key": (N, WIRE),
    "remote_scheme": (E, WIRE),
    "remote_fs_url": (E, WIRE),
    "remote_url_deprecated": (N, WIRE),
    "remote_plugin": (E, WIRE),
    "prefix_caching_off": (W, WIRE),
    "mp_ignores_settings": (W, WIRE),
    "offloading_backend_lmcache": (N, WIRE),
    "tiering_cpu_bytes": (E, WIRE),
    "version_pair": (E, PAIRS),
    "api_open": (W, OPERATE),
    "secret": (W, OPERATE),
}


@dataclass(frozen=True)
class Finding:
    """One thing to put right, at ``line`` of ``source`` (counted from 1; 0: the input as a whole)."""

    id: str
    source: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return RULES[self.id][0]

    @property
    def lesson(self) -> str:
        """The page of the course that explains it, by its folder's name."""
        return RULES[self.id][1]

    def what(self, language: str = "en") -> str:
        """What is wrong, in a sentence."""
        return text(f"finding.{self.id}.what", language, self.values)

    def why(self, language: str = "en") -> str:
        """Why it matters."""
        return text(f"finding.{self.id}.why", language, self.values)

    def fix(self, language: str = "en") -> str:
        """What to do."""
        return text(f"finding.{self.id}.fix", language, self.values)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """Everything, words included."""
        return {
            "id": self.id,
            "severity": self.severity.value,
            "source": self.source,
            "line": self.line,
            "values": values_in(language, self.values),
            "what": self.what(language),
            "why": self.why(language),
            "fix": self.fix(language),
            "lesson": self.lesson,
        }
