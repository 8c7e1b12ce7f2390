"""Which tests go together when several processes share them (`pytest -n 2`)."""

from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# One process has the engines and one the browsers: each set is dear to start, and is started once.
TOGETHER = ("engine", "browser")


class FolderScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """The folders of TOGETHER stay whole; every other test goes where there is room."""

    def _split_scope(self, nodeid: str) -> str:
        folder = PurePosixPath(nodeid.partition("::")[0]).parts[1]
        return folder if folder in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FolderScheduling:
    """What `-n` distributes by."""
    return FolderScheduling(config, log)
