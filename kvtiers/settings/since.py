"""From which release on each name exists that is written or checked here, and which are gone; the table, since.toml, is
read from the packages themselves by ``python -m lab.pairs.names``.

    Name("lmcache", "server_options", "shm-name").lack("0.4.6")    # Lack(since='0.4.7', until='', certain=True)
"""

from dataclasses import dataclass
from typing import Any

from kvtiers.settings.version_pairs import numbers, span
from kvtiers.tables import read_table


@dataclass(frozen=True)
class Lack:
    """A release has not the name: it came with ``since``, or went after ``until``, one of them empty. Not ``certain``:
    what is told of the release leaves both open, or it is older than all that were read."""

    since: str
    until: str
    certain: bool


@dataclass(frozen=True)
class Name:
    """An option, key or kind: of ``package``, vllm or lmcache, and of a ``kind`` as the table calls it."""

    package: str
    kind: str
    name: str

    @property
    def since(self) -> str:
        """The first release that has it; empty where the oldest that was read does, or none."""
        return self._told("since")

    @property
    def until(self) -> str:
        """The last release that had it; empty where it is not gone, or never was."""
        return self._told("until")

    def lack(self, version: str) -> Lack | None:
        """Why this release has it not; None where it has it, or no version is told."""
        lowest, highest = span(version)
        if not any(lowest):
            return None
        known = lowest >= numbers(releases(self.package)[0])
        if self.since and lowest < numbers(self.since):
            return Lack(self.since, "", certain=known and highest < numbers(self.since))
        if self.until and highest > numbers(self.until):
            return Lack("", self.until, certain=lowest > numbers(self.until))
        return None

    def _told(self, what: str) -> str:
        return str(_table()[self.package].get(what, {}).get(self.kind, {}).get(self.name, ""))


def of_connector(key: str) -> Name:
    """The name that this key of ``kv_connector_extra_config`` is: LMCache's in MP mode, else vLLM's own tiering's."""
    own = key.removeprefix("lmcache.mp.")
    return Name("lmcache", "mp_keys", own) if own != key else Name("vllm", "offloading_keys", key)


def releases(package: str) -> list[str]:
    """Those that were read, oldest first."""
    return list(_table()[package]["releases"])


def _table() -> dict[str, Any]:
    return read_table("settings/since.toml")
