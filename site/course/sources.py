"""The third-party files the browser runtime is made of: fetched by package name, checked by sha256.

`site/runtime/sources.json` lists each file with the client that brings it (npm or pip), the requirement, the licence
and its sha256. Nothing else from outside enters the site.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from course.clients import groups, run_client
from course.errors import CourseError

AT_ONCE = 4
TRIES = 3


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
    return [Source(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def find_source(path: Path, package: str) -> Source:
    """The one file of an npm package in the list at `path`, e.g. ``minisearch``. Raises CourseError without it."""
    found = [source for source in load_sources(path) if source.requirement.rpartition("@")[0] == package]
    if len(found) != 1:
        raise CourseError(f"{path.name} lists {len(found)} files of {package}, not one")
    return found[0]


def fetch(sources: Iterable[Source], cache: Path, arrived: Callable[[], None] = lambda: None) -> dict[str, Path]:
    """Bring every source into `cache`, several at once. Returns file name -> path, members included.

    What is there already and is the reviewed file stays, so a build that broke off goes on where it was. `arrived` is
    called once for each source.

    Raises:
        CourseError: when a file can't be had or is not the one that was reviewed.
    """
    cache.mkdir(parents=True, exist_ok=True)
    sources = list(sources)
    missing = [source for source in sources if not _is_here(source, cache)]
    for _ in range(len(sources) - len(missing)):
        arrived()
    stop = Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        brought = [pool.submit(_bring, group, cache, arrived, stop) for group in groups(missing)]
        try:
            for done in as_completed(brought):
                done.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return {path.name: path for source in sources for path in _kept(source, cache)}


def _bring(group: list[Source], cache: Path, arrived: Callable[[], None], stop: Event) -> None:
    """Bring a group together; if that fails, each of its files alone, so that the one at fault can be named."""
    reason = ""
    for _ in range(TRIES if len(group) == 1 else 1):
        if stop.is_set():
            return
        with tempfile.TemporaryDirectory(dir=cache, prefix="partial-") as folder:
            reason = run_client(group, Path(folder))
            left = [source for source in group if not _keep(source, Path(folder), cache, arrived)]
            if not left:
                return
            reason = reason or _difference(left[0], Path(folder))
    if len(group) > 1:
        for source in left:
            _bring([source], cache, arrived, stop)
        return
    raise CourseError(
        f"could not fetch {group[0].requirement} with {group[0].client}, tried {TRIES} times: {reason.rstrip('.')}. "
        "Check the network, proxy or mirror and build again: what has arrived is kept"
    )


def _keep(source: Source, folder: Path, cache: Path, arrived: Callable[[], None]) -> bool:
    """Take the source out of the folder where its client left it. False if it is not there."""
    path = folder / source.file
    if not _is(path, source.sha256):
        return False
    if source.members:
        _unpack(path, cache, source)
    else:
        path.replace(cache / source.file)
    arrived()
    return True


def _difference(source: Source, folder: Path) -> str:
    """What a client brought instead of the source."""
    path = folder / source.file
    if not path.is_file():
        return f"it no longer comes as {source.file}: review the new file, then update site/runtime/sources.json"
    return (
        f"{source.file} has sha256 {_sha256(path)}, reviewed was {source.sha256}. If it was really published anew, "
        "review it and update site/runtime/sources.json"
    )


def _kept(source: Source, cache: Path) -> list[Path]:
    """Of a file that is only taken apart, its members are kept."""
    return [cache / Path(name).name for name in source.members or [source.file]]


def _is_here(source: Source, cache: Path) -> bool:
    wanted = source.members.values() or [source.sha256]
    return all(_is(path, sha256) for path, sha256 in zip(_kept(source, cache), wanted, strict=True))


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and _sha256(path) == sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path, cache: Path, source: Source) -> None:
    with zipfile.ZipFile(archive) as bundle:
        for (name, sha256), path in zip(source.members.items(), _kept(source, cache), strict=True):
            try:
                content = bundle.read(name)
            except KeyError:
                raise CourseError(f"{source.file} no longer holds {name}: find its new home") from None
            if hashlib.sha256(content).hexdigest() != sha256:
                raise CourseError(f"{name} in {source.file} is not the reviewed file")
            path.write_bytes(content)


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
