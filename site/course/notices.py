"""Collects the licences of everything third-party that the site ships."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from course.sources import load_sources

LICENCE = re.compile(r"\.dist-info/(licenses/)?[^/]*(licen[cs]e|copying|notice|authors)[^/]*$", re.IGNORECASE)


def write_notices(sources: Path, downloads: Path, out: Path) -> None:
    """List each package with its licence and origin, followed by the licence texts it carries."""
    listed = load_sources(sources)
    head = [f"{source.requirement} ({source.client}): {source.licence}. {source.why}".strip() for source in listed]
    texts = []
    for path in sorted(downloads.glob("*.whl")):
        if not any(path.name == source.file and source.members for source in listed):
            texts += _licences(path)
    out.write_text("Third-party software on this site\n\n" + "\n".join(head) + "\n\n" + "\n\n".join(texts) + "\n")


def _licences(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as bundle:
        names = sorted(name for name in bundle.namelist() if LICENCE.search(name))
        return [f"== {name}\n\n{bundle.read(name).decode(errors='replace').strip()}" for name in names]
