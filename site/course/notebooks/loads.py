"""Which files of the core, and of its own folder, a notebook loads as it runs here: what was computed of it holds until
one of them changes."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CORE = "kvtiers"
PROJECT = Path(__file__).parents[3]

Loads = dict[str, str]
"""Files, as seen from the project's folder, and what each held: its sha256."""


@contextmanager
def watched_loads(notebook: Path) -> Iterator[Loads]:
    """What ``notebook`` loads while it runs in the block; known once the block has ended.

    The core is imported anew for it: else what this process has loaded before, and what its functions have cached,
    would not be loaded again.
    """
    opened = {str(notebook)}
    loads: Loads = {}
    is_on = True

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if is_on and event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            opened.add(os.fspath(arguments[0]))

    before = _core()
    for name in before:
        del sys.modules[name]
    # As they are now: one that is edited meanwhile will not be what it was.
    held = {file: digest(file) for folder in _folders(notebook) for file in folder.rglob("*") if file.is_file()}
    sys.addaudithook(note)  # for good: it can't be taken away
    try:
        yield loads
        used = opened | {module.__file__ for module in _core().values() if module.__file__}
        loads |= {os.path.relpath(file, PROJECT): held[file] for file in map(_resolved, used) if file in held}
    finally:
        is_on = False
        for name in _core():
            del sys.modules[name]
        sys.modules.update(before)


def are_as_they_were(loads: Mapping[str, str]) -> bool:
    return all((PROJECT / file).is_file() and digest(PROJECT / file) == held for file, held in loads.items())


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _core() -> dict[str, Any]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == CORE}


def _folders(notebook: Path) -> list[Path]:
    spec = find_spec(CORE)
    core = (spec.submodule_search_locations if spec else None) or []
    return [_resolved(notebook.parent), *map(_resolved, core)]


def _resolved(path: str | Path) -> Path:
    return Path(path).resolve()
