"""How tests share a machine of two cores: `make test` runs two files at a time."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

settings.register_profile("no clock", deadline=None)  # two files at a time: a slow moment is no fault
settings.load_profile("no clock")

ENGINE, BROWSER, CORE = "tests/engine/", "tests/browser/", "tests/core/"
LONGEST = f"{ENGINE}test_experiment.py"
# Browsers that start no Python.
STILL = tuple(f"{BROWSER}test_{name}.py" for name in ("pages", "reading", "search"))
# A browser starts Python on both cores: it goes beside no engine and no other such browser. Engines go beside each
# other.
TURNS = {"tests/site/test_runtime.py": fcntl.LOCK_EX, BROWSER: fcntl.LOCK_EX, ENGINE: fcntl.LOCK_SH}


class OneBrowser(LoadFileScheduling):  # type: ignore[misc]
    """Files that may not go beside each other go to one worker, so that the other need not wait."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if _turn(nodeid) == fcntl.LOCK_EX else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return OneBrowser(config, log)


@pytest.fixture(autouse=True, scope="module")
def turn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Waits until a file's tests can have as much of the machine as they need."""
    mode = _turn(request.node.nodeid)
    with Path(__file__).open("rb") as lock:
        if mode is not None:
            fcntl.flock(lock, mode)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first. Between engines and browsers that wait for them stands what waits for nothing."""
    items.sort(key=_place)


def _turn(nodeid: str) -> int | None:
    if nodeid.startswith(STILL):
        return None
    return next((mode for start, mode in TURNS.items() if nodeid.startswith(start)), None)


def _place(item: pytest.Item) -> tuple[bool, bool, bool, bool]:
    starts = item.nodeid.startswith
    return not starts(LONGEST), not starts(ENGINE), not starts(CORE), _turn(item.nodeid) != fcntl.LOCK_EX
