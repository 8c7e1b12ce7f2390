"""The package's tables: TOML files beside the code that they belong to, each read once."""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """What is in a file, by its path within the package: ``read_table("lint/rules.toml")``."""
    return tomllib.loads(files("kvtiers").joinpath(name).read_text(encoding="utf-8"))


def table_names() -> list[str]:
    """Every table there is. ``for name in table_names(): read_table(name)`` makes the files themselves dispensable."""
    return sorted(_below(files("kvtiers"), ""))


def _below(folder: Traversable, path: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(".toml"):
            yield path + entry.name
