"""The third-party files the browser runtime is made of: fetched by package name, checked by sha256.

`site/runtime/downloads.json` lists each file with the client that brings it (npm or pip), the requirement, the licence
and its sha256. Nothing else from outside enters the site.
"""

import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from course.errors import CourseError


@dataclass(frozen=True)
class Download:
    """One file of the runtime and where it comes from."""

    file: str
    sha256: str
    client: str
    requirement: str
    licence: str
    why: str = ""
    members: dict[str, str] = field(default_factory=dict)
    """Files taken out of this one, with their sha256; empty: the file itself is used."""
    shipped: bool = True
    """False for a build tool of which nothing gets into the site."""


def load_downloads(path: Path) -> list[Download]:
    return [Download(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def find_download(path: Path, package: str) -> Download:
    """The one file of an npm package in the list at `path`, e.g. ``minisearch``. Raises CourseError without it."""
    matches = [download for download in load_downloads(path) if download.requirement.rpartition("@")[0] == package]
    if len(matches) != 1:
        raise CourseError(f"{path.name} lists {len(matches)} files of {package}, not one")
    return matches[0]


def unpack_tar(archive: Path, into: Path, prefix: str) -> None:
    """Unpack the regular files below `prefix` of a .tgz into `into`, without the prefix."""
    with tarfile.open(archive) as bundle:
        for member in bundle.getmembers():
            if member.isfile() and member.name.startswith(prefix):
                stream = bundle.extractfile(member)
                target = into / member.name.removeprefix(prefix)
                if stream is None or not target.resolve().is_relative_to(into.resolve()):
                    raise CourseError(f"{archive.name} holds a path outside its folder: {member.name}")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(stream.read())
