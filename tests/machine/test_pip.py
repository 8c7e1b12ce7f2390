"""Installing from an index that gives one package and refuses another: real pip, a small index of this test's own."""

import functools
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from machine import MachineError
from machine.environment import explain, make, set_up_project

NO_SPACE = [
    "Collecting numpy==2.3.5",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
]


class Index(http.server.SimpleHTTPRequestHandler):
    """Files of a directory; a name that says so is refused, as a proxy does."""

    def do_GET(self) -> None:
        if "refused" in self.path:
            self.send_error(403, "Forbidden by the proxy")
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def wheel(directory: Path, name: str) -> str:
    """A wheel of one empty module on its index page; returns its sha256."""
    page = directory / "simple" / name
    page.mkdir(parents=True)
    file = page / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    (page / "index.html").write_text(f'<a href="{file.name}">{file.name}</a>')
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The index's directory; pip sees nothing else."""
    directory = tmp_path / "index"
    directory.mkdir()
    handler = functools.partial(Index, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        monkeypatch.setenv("PIP_RETRIES", "0")
        yield directory
        server.shutdown()


def lock(path: Path, **digests: str) -> Path:
    path.write_text("".join(f"{name}==1.0 --hash=sha256:{digest}\n" for name, digest in digests.items()))
    return path


def test_an_index_that_refuses_one_package_is_told_by_that_packages_name(index: Path, tmp_path: Path) -> None:
    wanted = lock(tmp_path / "project.txt", fine=wheel(index, "fine"), refused=wheel(index, "refused"))
    with pytest.raises(MachineError) as told:
        set_up_project(tmp_path / "a place 測試", wanted)
    assert str(told.value).startswith("installing project.txt failed at refused==1.0: ")
    assert "The package index refused it or can't be reached: check the network, proxy or mirror." in str(told.value)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "a place 測試" / "complete").exists()


def test_the_same_command_again_resumes(index: Path, tmp_path: Path) -> None:
    good = wheel(index, "fine")
    later = wheel(index, "later")
    (index / "simple" / "later").rename(index / "gone")
    wanted, directory = lock(tmp_path / "project.txt", fine=good, later=later), tmp_path / "environment"
    with pytest.raises(MachineError, match=r"failed at later==1\.0"):
        set_up_project(directory, wanted)
    (index / "gone").rename(index / "simple" / "later")
    set_up_project(directory, wanted)
    assert (directory / "complete").exists()
    assert len(list(directory.glob("lib/python*/site-packages/*er.py"))) == 1


def test_a_file_that_is_not_the_locks_is_refused(index: Path, tmp_path: Path) -> None:
    wheel(index, "fine")
    with pytest.raises(MachineError, match=r"failed at fine==1\.0.*another file than the lock names"):
        set_up_project(tmp_path / "environment", lock(tmp_path / "project.txt", fine="0" * 64))


def test_a_full_drive_is_told_as_one() -> None:
    told = explain("engine-cpu.txt", "numpy==2.3.5", NO_SPACE)
    assert told.startswith("installing engine-cpu.txt failed at numpy==2.3.5: Could not install packages")
    assert "The drive is full: make room. Running the same command again resumes" in told


def test_a_broken_environment_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "environment" / "bin").mkdir(parents=True)
    (tmp_path / "environment" / "bin" / "python").write_text("not a program")
    assert make(tmp_path / "environment").is_symlink()
