"""Collects the licences of everything third-party that the site ships."""

import re
import tarfile
import zipfile
from pathlib import Path

from course.downloads import load_downloads
from course.fetch import fetch

PACKED_LICENCE = re.compile(r"[^/]+/licen[cs]e[^/]*", re.IGNORECASE)
LICENCE = re.compile(r"\.dist-info/(licenses/)?[^/]*(licen[cs]e|copying|notice|authors)[^/]*$", re.IGNORECASE)


def write_notices(site: Path, downloads: Path, out: Path) -> None:
    """List each package that ships something with its licence and origin, followed by the licence texts it carries.

    `site/licences/` holds the texts of what comes without: Pyodide's package has none of its own or of CPython's.
    """
    shipped = [download for download in load_downloads(site / "runtime" / "downloads.json") if download.shipped]
    head = [
        f"{download.requirement} ({download.client}): {download.licence}. {download.why}".strip()
        for download in shipped
    ]
    texts = [
        f"== {path.stem}\n\n{path.read_text(encoding='utf-8').strip()}"
        for path in sorted((site / "licences").glob("*.txt"))
    ]
    for _, path in sorted(fetch(shipped, downloads).items()):
        texts += _licences(path) if path.suffix == ".whl" else _packed_licences(path)
    out.write_text(
        "Third-party software on this site\n\n" + "\n".join(head) + "\n\n" + "\n\n".join(texts) + "\n", encoding="utf-8"
    )


def _licences(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as bundle:
        names = sorted(name for name in bundle.namelist() if LICENCE.search(name))
        return [f"== {name}\n\n{bundle.read(name).decode(errors='replace').strip()}" for name in names]


def _packed_licences(package: Path) -> list[str]:
    """Of an npm package."""
    with tarfile.open(package) as bundle:
        licences = [member for member in bundle.getmembers() if PACKED_LICENCE.fullmatch(member.name)]
        streams = [(member.name, bundle.extractfile(member)) for member in licences]
        return [
            f"== {package.name} {name}\n\n{stream.read().decode(errors='replace').strip()}"
            for name, stream in streams
            if stream
        ]
