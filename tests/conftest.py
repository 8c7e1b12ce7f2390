"""How tests share a machine of two cores: `make test` runs two files at a time."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ENGINE, BROWSER = "tests/engine/", "tests/browser/"
# What wants the other one not to run an engine or a browser meanwhile; browsers go beside browsers.
TURNS = {
    ENGINE: fcntl.LOCK_EX,
    f"{BROWSER}test_speed.py": fcntl.LOCK_EX,
    BROWSER: fcntl.LOCK_SH,
    "tests/site/test_runtime.py": fcntl.LOCK_EX,
}


@pytest.fixture(autouse=True, scope="module")
def turn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Waits until a file's tests can have as much of the machine as they need."""
    mode = next((mode for start, mode in TURNS.items() if request.node.nodeid.startswith(start)), None)
    with Path(__file__).open("rb") as lock:
        if mode is not None:
            fcntl.flock(lock, mode)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Engines first, browsers last: the light tests run beside the engines."""
    items.sort(key=lambda item: (not item.nodeid.startswith(ENGINE), item.nodeid.startswith(BROWSER)))


class Files(LoadScopeScheduling):  # type: ignore[misc]
    """A file is one process's; those of the engine are all the same one's."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return ENGINE if nodeid.startswith(ENGINE) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Files:
    return Files(config, log)
