"""Brings the modules that are not in the memory image, all at once, when the first of them is needed."""

import importlib
import random
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

HELD_BACK = "jedi"
"""marimo imports it when it starts, for a side effect; what uses it is code completion, in an editor."""


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


def hold_back() -> None:
    """Let `import HELD_BACK` succeed at once; the package itself is imported when something in it is asked for."""
    module = ModuleType(HELD_BACK)

    def import_it(name: str) -> object:
        # Whoever looks over all modules asks for __file__ and the like; whoever imports a submodule, for __path__.
        if name.startswith("__") and name != "__path__":
            raise AttributeError(name)
        del sys.modules[HELD_BACK]
        vars(module).update(vars(importlib.import_module(HELD_BACK)))
        return getattr(module, name)

    module.__getattr__ = import_it  # type: ignore[method-assign]
    sys.modules[HELD_BACK] = module


def start(names: Sequence[str], fetch: Callable[[], None]) -> None:
    """Finish what the image could not hold: files that are elsewhere now, and fresh randomness."""
    importlib.invalidate_caches()
    random.seed()
    sys.meta_path.append(LateImports(names, fetch))
