import errno
import os
import threading
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.measure import page_cache
from lab.measure.chunks import ChunkFiles, check_cache_root, supports_direct_io
from machine.mounts import mount_of


def test_memory_and_the_root_are_no_drives(tmp_path: Path) -> None:
    assert mount_of(Path("/dev/shm")).file_system == "tmpfs"
    with pytest.raises(LabError, match="is memory, not a drive"):
        check_cache_root(Path("/dev/shm/kvtiers-test"), 0)
    assert not Path("/dev/shm/kvtiers-test").exists()
    with pytest.raises(LabError, match="must not be /"):
        check_cache_root(tmp_path / ("../" * 20), 0)


def test_a_drive_without_room_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="the run writes about 1 PiB of KV"):
        check_cache_root(tmp_path, 2**50)


def test_a_cache_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot make the cache directory"):
        check_cache_root(tmp_path / "file" / "cache", 0)


def test_waiting_ends_when_the_last_chunk_is_whole(tmp_path: Path) -> None:
    files = ChunkFiles(tmp_path, chunk_bytes=4096, direct_io=False)
    (tmp_path / "one.pt").write_bytes(b"x" * 4096)
    (tmp_path / "two.pt").write_bytes(b"x" * 100)
    asked = threading.Event()

    def finish_the_second() -> None:
        asked.set()
        (tmp_path / "two.pt").write_bytes(b"x" * 4096)

    files.await_written(2, finish_the_second)
    assert asked.is_set()


def test_waiting_in_vain_ends_with_the_reason(tmp_path: Path) -> None:
    def engine_is_gone() -> None:
        raise LabError("the engine was killed")

    with pytest.raises(LabError, match="the engine was killed"):
        ChunkFiles(tmp_path, 4096, direct_io=False).await_written(1, engine_is_gone)


def test_chunk_files_leave_the_page_cache_and_come_back(tmp_path: Path) -> None:
    files = ChunkFiles(tmp_path, 4096, direct_io=False)
    for number in range(3):
        (tmp_path / f"{number}.pt").write_bytes(b"x" * 4096 * 300)
    files.leave_page_cache()
    assert page_cache.held_share(tmp_path.glob("*.pt")) == 0
    (tmp_path / "0.pt").read_bytes()
    assert page_cache.held_share(tmp_path.glob("*.pt")) == pytest.approx(1 / 3)
    files.enter_page_cache()
    assert page_cache.held_share(tmp_path.glob("*.pt")) == 1


def test_a_page_cache_that_does_not_do_as_told_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chunk.pt").write_bytes(b"x" * 4096 * 2)
    files = ChunkFiles(tmp_path, 4096, direct_io=False)
    monkeypatch.setattr(page_cache, "held_share", lambda _: 0.5)
    with pytest.raises(LabError, match=r"still holds 50\.0% of the chunk files"):
        files.leave_page_cache()
    with pytest.raises(LabError, match=r"holds only 50\.0% of the chunk files"):
        files.enter_page_cache()


def test_a_file_system_that_opens_for_direct_io_and_then_refuses_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "write", refuse)
    assert not supports_direct_io(tmp_path)
    assert list(tmp_path.iterdir()) == []
