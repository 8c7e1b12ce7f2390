"""What a run owns: gone when it ends, swept by the next one when it was killed, never somebody else's."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab import run_directory as module
from lab.errors import LabError
from lab.paths import REPOSITORY
from lab.run_directory import alone, run_directory

_HOLD = """
import sys, time
from pathlib import Path
from lab.run_directory import run_directory
with run_directory(Path(sys.argv[1])) as directory:
    (directory / "chunk.data").touch()
    print(directory, flush=True)
    time.sleep(600)
"""


def held(root: Path) -> tuple[subprocess.Popen[str], Path]:
    """A run in a process of its own, and its directory."""
    run = subprocess.Popen([sys.executable, "-c", _HOLD, root], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert run.stdout
    return run, Path(run.stdout.readline().strip())


def test_a_run_deletes_its_own_directory_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with run_directory(tmp_path / "cache") as directory:
        (directory / "chunk.pt").write_bytes(b"x")
    assert not directory.exists()
    assert (tmp_path / "mine").read_text() == "precious"


def test_the_next_run_sweeps_what_a_killed_one_left_and_spares_what_lives(tmp_path: Path) -> None:
    (tmp_path / "kvt-notes").mkdir()
    killed, dead = held(tmp_path)
    running, alive = held(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (dead / "chunk.data").exists()
    with run_directory(tmp_path):
        assert not dead.exists()
        assert (alive / "chunk.data").exists()
        assert (tmp_path / "kvt-notes").exists()
    running.kill()
    running.communicate()


def test_shared_memory_of_a_killed_run_goes_with_its_directory(tmp_path: Path) -> None:
    killed, dead = held(tmp_path)
    killed.kill()
    killed.communicate()
    segment = Path("/dev/shm") / f"lmcache_l1_pool_{dead.name}"
    segment.touch()
    with run_directory(tmp_path):
        assert not segment.exists()


def test_two_runs_at_once_in_one_clone_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    with alone(), pytest.raises(LabError, match="another lab run is under way"), alone():
        pass
    with alone():
        pass
