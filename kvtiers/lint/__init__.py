"""What is wrong in settings, before a server starts with them: `lint` and what it finds."""

from kvtiers.lint.check import Facts, Source, lint
from kvtiers.lint.findings import Finding, Severity

__all__ = ["Facts", "Finding", "Severity", "Source", "lint"]
