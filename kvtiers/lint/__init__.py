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
from kvtiers.lint.rules import engine, mp, offloading, room, safety, settings
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
    given = read_sources(sources)
    order = {severity: rank for rank, severity in enumerate(Severity)}
    kept, ignored = apply_ignores(_examine(given, facts or Facts()), sources)
    unique = {(finding.id, finding.source, finding.line, str(finding.values)): finding for finding in kept}
    findings = sorted(unique.values(), key=lambda one: (not one.certain, order[one.severity], one.source, one.line))
    return Report(given, findings, ignored)


def _examine(given: Given, facts: Facts) -> list[Finding]:
    findings: list[Finding] = []
    every = list(setups(given, facts))
    for setup in every:
        findings += engine.check(setup, given)
        findings += settings.check(setup)
        findings += offloading.check(setup)
        findings += safety.check_api(setup)
    for server in given.lmcache_servers:
        findings += engine.check_command(server)
        findings += safety.check_lmcache_server(server)
    findings += mp.check(every, given)
    findings += room.check(every, given, facts)
    findings += engine.check_versions(given)
    findings += safety.check_secrets(given)
    return findings
