r"""What is wrong in settings, before a server starts with them. The rules are in rules_engine, _settings, _safety.

>>> text = "chunk_size: 256\nlocal_disk: /mnt/nvme/kv"
>>> [finding.id for finding in lint([Source("lmcache.yaml", text)])]
['disk_without_limit', 'hash_builtin']
"""

from collections.abc import Sequence

from kvtiers.lint import rules_engine, rules_safety, rules_settings
from kvtiers.lint.findings import Finding, Severity
from kvtiers.lint.given import Source
from kvtiers.lint.setup import Facts, setups
from kvtiers.lint.sources import read_sources

__all__ = ["Facts", "Finding", "Severity", "Source", "lint"]


def lint(sources: Sequence[Source], facts: Facts | None = None) -> list[Finding]:
    """Everything to put right in ``sources``, read together as one deployment, worst first.

    Raises:
        KvtiersError: for a text that cannot be read, naming it and the line.
    """
    given = read_sources(sources)
    findings: list[Finding] = []
    for setup in setups(given, facts or Facts()):
        findings += rules_engine.check(setup, given)
        findings += rules_settings.check(setup)
        findings += rules_safety.check_server(setup)
    findings += rules_engine.check_versions(given)
    findings += rules_safety.check_secrets(given)
    order = {severity: rank for rank, severity in enumerate(("error", "warning", "note"))}
    unique = {(finding.id, finding.source, finding.line, str(finding.values)): finding for finding in findings}
    return sorted(unique.values(), key=lambda finding: (order[finding.severity], finding.source, finding.line))
