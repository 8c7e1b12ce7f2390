"""The memory that LMCache's server and an engine share: room before, nothing after."""

from collections import namedtuple
from pathlib import Path

import pytest

from lab.engines import shared_memory as module
from lab.engines.shared_memory import require_shared, shared_memory
from lab.errors import LabError


def test_too_little_is_told_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(64, 0, 64 * 2**20))
    why = "shares 512 MiB with the engine, and /dev/shm has 64 MiB free"
    with pytest.raises(LabError, match=why), shared_memory("kvt-test", 0.5):
        pass


def test_an_engine_that_could_not_open_it_is_told(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("Using shm non-GPU transfer strategy")
    require_shared(log)
    log.write_text("Using pickle non-GPU transfer strategy")
    with pytest.raises(LabError, match="sends KV through a socket"):
        require_shared(log)


def test_what_a_killed_server_leaves_behind_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    mine, others = tmp_path / "lmcache_l1_pool_kvt-mine", tmp_path / "lmcache_l1_pool_kvt-others"
    with shared_memory("kvt-mine", 0.0):
        mine.touch()
        others.touch()
    assert not mine.exists()
    assert others.exists()
