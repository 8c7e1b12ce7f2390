"""Brings the modules that are not in the memory image, all at once, when the first of them is imported."""

import importlib
import random
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class LateImports:
    """A last resort on sys.meta_path: knows which modules exist, and fetches their files on first need."""

    def __init__(self, names: Sequence[str], fetch: Callable[[], None]) -> None:
        self._names = frozenset(names)
        self._fetch = fetch

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find `name` after its files have come; None for a module that does not exist."""
        if name not in self._names:
            return None
        sys.meta_path.remove(self)
        self._fetch()
        importlib.invalidate_caches()
        return PathFinder.find_spec(name, path, target)


def start(names: Sequence[str], fetch: Callable[[], None]) -> None:
    """Finish what the image could not hold: files that are elsewhere now, and fresh randomness."""
    importlib.invalidate_caches()
    random.seed()
    sys.meta_path.append(LateImports(names, fetch))
