"""Brings what the list of downloads names, several at once, and keeps it by its sha256."""

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event

from course.clients import groups, run_client
from course.downloads import Download
from course.errors import CourseError

AT_ONCE = 4
TRIES = 3


def fetch(downloads: Iterable[Download], cache: Path, arrived: Callable[[], None] = lambda: None) -> dict[str, Path]:
    """Bring every download into `cache`, several at once. Returns file name -> path, members included.

    What is there already and is the reviewed file stays, so a build that broke off goes on where it was. `arrived` is
    called once for each download.

    Raises:
        CourseError: when a file can't be had or is not the one that was reviewed.
    """
    cache.mkdir(parents=True, exist_ok=True)
    downloads = list(downloads)
    missing = [download for download in downloads if not _is_here(download, cache)]
    for _ in range(len(downloads) - len(missing)):
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
    return {path.name: path for download in downloads for path in _kept(download, cache)}


def _bring(group: list[Download], cache: Path, arrived: Callable[[], None], stop: Event) -> None:
    """Bring a group together; if that fails, each of its files alone, so that the one at fault can be named."""
    reason = ""
    for _ in range(TRIES if len(group) == 1 else 1):
        if stop.is_set():
            return
        with tempfile.TemporaryDirectory(dir=cache, prefix="partial-") as folder:
            reason = run_client(group, Path(folder))
            left = [download for download in group if not _keep(download, Path(folder), cache, arrived)]
            if not left:
                return
            reason = reason or _difference(left[0], Path(folder))
    if len(group) > 1:
        for download in left:
            _bring([download], cache, arrived, stop)
        return
    raise CourseError(
        f"could not fetch {group[0].requirement} with {group[0].client}, tried {TRIES} times: {reason.rstrip('.')}. "
        "Check the network, proxy or mirror and build again: what has arrived is kept"
    )


def _keep(download: Download, folder: Path, cache: Path, arrived: Callable[[], None]) -> bool:
    """Take the download out of the folder where its client left it. False if it is not there."""
    path = folder / download.file
    if not _is(path, download.sha256):
        return False
    if download.members:
        _unpack(path, cache, download)
    else:
        path.replace(cache / download.file)
    arrived()
    return True


def _difference(download: Download, folder: Path) -> str:
    """What a client brought instead of the download."""
    path = folder / download.file
    if not path.is_file():
        return f"it no longer comes as {download.file}: review the new file, then update site/runtime/downloads.json"
    return (
        f"{download.file} has sha256 {_sha256(path)}, reviewed was {download.sha256}. If it was really published anew, "
        "review it and update site/runtime/downloads.json"
    )


def _kept(download: Download, cache: Path) -> list[Path]:
    """Of a file that is only taken apart, its members are kept."""
    return [cache / Path(name).name for name in download.members or [download.file]]


def _is_here(download: Download, cache: Path) -> bool:
    wanted = download.members.values() or [download.sha256]
    return all(_is(path, sha256) for path, sha256 in zip(_kept(download, cache), wanted, strict=True))


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and _sha256(path) == sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path, cache: Path, download: Download) -> None:
    with zipfile.ZipFile(archive) as bundle:
        for (name, sha256), path in zip(download.members.items(), _kept(download, cache), strict=True):
            try:
                content = bundle.read(name)
            except KeyError:
                raise CourseError(f"{download.file} no longer holds {name}: find its new home") from None
            if hashlib.sha256(content).hexdigest() != sha256:
                raise CourseError(f"{name} in {download.file} is not the reviewed file")
            path.write_bytes(content)
