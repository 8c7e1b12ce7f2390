"""The engine's environment, with real pip and a tiny package instead of 150 large ones."""

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from kvtiers.result.schema import Versions
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines import install
from lab.engines.install import refuse_known_bad, set_up
from lab.errors import LabError
from machine import MachineError
from machine.needs import NEEDS


def _wheel(directory: Path) -> str:
    """A wheel of one empty module; returns its sha256."""
    path = directory / "tinything-1.0-py3-none-any.whl"
    files = {
        "tinything.py": b"",
        "tinything-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        "tinything-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in files.items()
    )
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
        wheel.writestr("tinything-1.0.dist-info/RECORD", record)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab's state and requirements in a directory of the test's own; pip sees only the tiny wheel."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    digest = _wheel(wheels)
    (tmp_path / "engine-cuda.txt").write_text(f"tinything==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setattr(install, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(install, "engine_environment", lambda engine: tmp_path / f"engine-{engine}")
    monkeypatch.setattr(install, "engine_python", lambda engine: tmp_path / f"engine-{engine}" / "bin" / "python")
    monkeypatch.setattr(install, "engine_bytes", lambda engine: 1)
    monkeypatch.setattr(install, "missing", lambda command, engine: [])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return tmp_path


def _installed(root: Path) -> list[Path]:
    return list((root / "engine-cuda").glob("lib/python*/site-packages/tinything.py"))


def test_a_complete_environment_is_left_alone(elsewhere: Path) -> None:
    set_up("cuda")
    assert _installed(elsewhere)
    (elsewhere / "wheels").rename(elsewhere / "gone")  # a second installation would fail now
    set_up("cuda")


def test_a_half_installed_environment_is_completed(elsewhere: Path) -> None:
    set_up("cuda")
    (elsewhere / "engine-cuda" / "complete.json").unlink()
    _installed(elsewhere)[0].unlink()
    set_up("cuda")
    assert (elsewhere / "engine-cuda" / "complete.json").exists()


def test_a_broken_environment_is_built_anew(elsewhere: Path) -> None:
    (elsewhere / "engine-cuda" / "bin").mkdir(parents=True)
    (elsewhere / "engine-cuda" / "bin" / "python").write_text("not a program")
    set_up("cuda")
    assert _installed(elsewhere)


def test_a_changed_lock_is_installed(elsewhere: Path) -> None:
    set_up("cuda")
    lock = elsewhere / "engine-cuda.txt"
    lock.write_text(lock.read_text() + "nothere==1.0 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(MachineError, match=r"failed at nothere==1\.0"):
        set_up("cuda")


def test_without_a_network_the_message_says_so_and_what_to_do(elsewhere: Path) -> None:
    (elsewhere / "wheels" / "tinything-1.0-py3-none-any.whl").unlink()
    with pytest.raises(
        MachineError,
        match=r"^installing engine-cuda\.txt failed at tinything==1\.0: .*check the network.* again resumes.*$",
    ):
        set_up("cuda")
    assert not (elsewhere / "engine-cuda" / "complete.json").exists()


def test_a_full_drive_is_refused_before_anything_is_written(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "engine_bytes", lambda engine: 2**60)
    with pytest.raises(MachineError, match="setting the cuda engine up takes "):
        set_up("cuda")
    assert not (elsewhere / "engine-cuda").exists()


def test_what_the_system_lacks_is_told_before_anything_is_downloaded(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = next(need for need in NEEDS if "C compiler" in need.what)
    monkeypatch.setattr(install, "missing", lambda command, engine: [compiler] if engine == "cuda" else [])
    with pytest.raises(MachineError, match=r"lacks: a C compiler .*\nThis brings it: .*gcc"):
        set_up("cuda")
    assert not (elsewhere / "engine-cuda").exists()


def test_a_pair_known_not_to_work_is_refused_and_none_named_that_works_elsewhere_only() -> None:
    with pytest.raises(LabError, match=r"known not to work: .*4463.*On CUDA no pair is known to work; --wiring mp"):
        refuse_known_bad(Versions("0.32.0", "0.5.6", "2.13.0", "3.12.1", ""), LMCacheMode.IN_PROCESS, "cuda")
    for mode in LMCacheMode:
        refuse_known_bad(Versions("0.32.0", "0.5.6", "2.13.0", "3.12.1", ""), mode, "cpu")
    refuse_known_bad(Versions("0.32.0", "", "2.13.0", "3.12.1", ""), LMCacheMode.IN_PROCESS, "cuda")
