"""The use that docstrings show is what happens."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import kvtiers

MODULES = [found.name for found in pkgutil.walk_packages(kvtiers.__path__, "kvtiers.")]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_the_use_a_docstring_shows(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
