r"""What is wrong in settings, before a server starts with them. Rules are in ``rules``, the forms read in ``forms``.

>>> text = "chunk_size: 256\nlocal_disk: /mnt/nvme/kv"
>>> [finding.id for finding in lint([Source("lmcache.yaml", text)])]
['disk_without_limit', 'hash_builtin']
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kvtiers.lint.findings import Finding, Severity
from kvtiers.lint.forms.sources import read_sources
from kvtiers.lint.given import Given, Source
from kvtiers.lint.ignore import apply_ignores
from kvtiers.lint.rules import engine, mp, offloading, room, safety, settings, versions
from kvtiers.lint.setup import Facts, setups

__all__ = ["Facts", "Finding", "Report", "Severity", "Source", "lint", "report"]


@dataclass(frozen=True)
class Report:
    """``findings``: certain first, worst first; ``given``: what they rest on; ``ignored``: how many were left out."""

    given: Given
    findings: list[Finding]
    ignored: int

    @property
    def clean(self) -> bool:
        """Is nothing to be put right, as far as can be told?"""
        return not any(finding.certain for finding in self.findings)


def lint(sources: Sequence[Source], facts: Facts | None = None) -> list[Finding]:
    """The findings of ``report``."""
    return report(sources, facts).findings


def report(sources: Sequence[Source], facts: Facts | None = None) -> Report:
    """Everything to put right in ``sources``, read together as one deployment.

    Raises:
        KvtiersError: for a text that cannot be read, naming it and the line.
    """
    given, facts = read_sources(sources), facts or Facts()
    every = list(setups(given, facts))
    found = [one for rules in (engine, settings, offloading, safety, mp, versions) for one in rules.check(every, given)]
    found += [*room.check(every, given, facts), *safety.check_secrets(given)]
    kept, ignored = apply_ignores(found, sources)
    unique = {(one.id, one.source, one.line, str(one.values)): one for one in kept}
    order = list(Severity)
    findings = sorted(
        unique.values(), key=lambda one: (not one.certain, order.index(one.severity), one.source, one.line)
    )
    return Report(given, findings, ignored)
