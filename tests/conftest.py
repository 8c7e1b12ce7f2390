"""Which tests go together when several processes share them (`pytest -n 2`)."""

from pathlib import Path

import pytest

# One process has the engines and one the browsers: each set is dear to start, and is started once.
GROUPS = {"engine": "engine", "browser": "browser"}


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folders of GROUPS are each a group of their own; all other tests go where there is room."""
    here = Path(__file__).parent
    for item in items:
        if group := GROUPS.get(item.path.relative_to(here).parts[0]):
            item.add_marker(pytest.mark.xdist_group(group))
