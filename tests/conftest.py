"""How tests share a machine of two cores: `make test` runs two files at a time."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no clock", deadline=None)  # two files at a time: a slow moment is no fault
settings.load_profile("no clock")

ENGINE, BROWSER = "tests/engine/", "tests/browser/"
LONGEST = f"{ENGINE}test_experiment.py"
# A browser starts Python on both cores: it goes beside no engine and no other browser. Engines go beside each other.
TURNS = {BROWSER: fcntl.LOCK_EX, "tests/site/test_runtime.py": fcntl.LOCK_EX, ENGINE: fcntl.LOCK_SH}


@pytest.fixture(autouse=True, scope="module")
def turn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Waits until a file's tests can have as much of the machine as they need."""
    mode = next((mode for start, mode in TURNS.items() if request.node.nodeid.startswith(start)), None)
    with Path(__file__).open("rb") as lock:
        if mode is not None:
            fcntl.flock(lock, mode)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Engines first and browsers last, so that both at once is rare."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[bool, bool, bool]:
    starts = item.nodeid.startswith
    return not starts(LONGEST), not starts(ENGINE), starts(BROWSER)
