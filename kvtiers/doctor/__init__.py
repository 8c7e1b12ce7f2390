"""The doctor: checks settings (``lint``), reads server logs (``diagnose``), writes settings (``advise``).

Results carry ids and values only; the words, in each language, are in ``texts_*.toml`` (see ``texts``).
"""

from kvtiers.doctor.findings import Finding, Severity
from kvtiers.doctor.lint import Facts, Source, lint

__all__ = ["Facts", "Finding", "Severity", "Source", "lint"]
