"""From which release on each name exists that is written or checked here, which are gone, and which defaults changed;
the table, since.toml, is read from the packages themselves by ``python -m lab.pairs.names``.

    Name("lmcache", "server_options", "shm-name").lack("0.4.6")    # Lack(since='0.4.7', until='', certain=True)
    Name("lmcache", "server_options", "http-host").defaults("0.5.5")    # ["0.0.0.0"]
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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

    def defaults(self, version: str) -> list[Any]:
        """What it is where nobody sets it, oldest first: several where what is told of the release, or that nothing
        is, leaves them open; none where it is the same in every release that was read."""
        lowest, highest = span(version)
        values = [(numbers(since), json.loads(value)) for since, value in self._entry("defaults", {}).items()]
        ends = [since for since, _ in values[1:]]
        return [
            value
            for at, (since, value) in enumerate(values)
            if (at == 0 or since <= highest) and (at == len(ends) or lowest < ends[at])
        ]

    def _told(self, what: str) -> str:
        return str(self._entry(what, ""))

    def _entry(self, what: str, otherwise: Any) -> Any:
        return _table()[self.package].get(what, {}).get(self.kind, {}).get(self.name, otherwise)


def of_connector(key: str) -> Name:
    """The name that this key of ``kv_connector_extra_config`` is: LMCache's in MP mode, else vLLM's own tiering's."""
    own = key.removeprefix("lmcache.mp.")
    return Name("lmcache", "mp_keys", own) if own != key else Name("vllm", "offloading_keys", key)


def of_adapter(adapter: Mapping[str, Any]) -> Iterator[tuple[Name, str]]:
    """The kind and the keys of an ``--l2-adapter``, and how each is written. A key is every adapter's or its own."""
    kind = str(adapter.get("type") or "")
    yield Name("lmcache", "l2_adapters", kind), f'--l2-adapter "type": "{kind}"'
    for key in adapter:
        common = Name("lmcache", "l2_keys", key)
        yield common if common.since else replace(common, name=f"{kind} {key}"), f'--l2-adapter "{key}"'


def of_tier(tier: Mapping[str, Any]) -> Iterator[tuple[Name, str]]:
    """The kind and the keys of one of vLLM's own secondary tiers, and how each is written."""
    kind = str(tier.get("type") or "")
    yield Name("vllm", "tiers", kind), f'"type": "{kind}"'
    yield from ((Name("vllm", "tier_keys", f"{kind} {key}"), f'secondary_tiers "{key}"') for key in tier)


def releases(package: str) -> list[str]:
    """Those that were read, oldest first."""
    return list(_table()[package]["releases"])


def _table() -> dict[str, Any]:
    return read_table("settings/since.toml")
