"""The look before a command: everything missing at once, and one line that brings it."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from machine import MachineError, memory, needs, packages, space
from machine.look import look
from machine.needs import NEEDS, Need, missing

Programs = Callable[..., Path]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """PATH is a directory of this test's own, with the programs it is given."""

    def make(**scripts: str) -> Path:
        for name, script in scripts.items():
            file = tmp_path / "bin" / name.replace("_", "-")
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"#!/bin/sh\n{script}\n")
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "bin"

    monkeypatch.setenv("PATH", str(make(sh='exec /bin/sh "$@"')))
    return make


@pytest.fixture
def one_need(monkeypatch: pytest.MonkeyPatch) -> Need:
    """A program that no system has, wanted by all commands."""
    names = {"apt": "tinything libtiny", "dnf": "tinything-libs", "pacman": "tiny"}
    need = Need("a tiny thing", names, frozenset({"check"}), programs=("tinything",))
    monkeypatch.setattr(needs, "NEEDS", (need,))
    return need


def what(command: str, engine: str) -> set[str]:
    return {need.packages["apt"].split()[0] for need in missing(command, engine)}


def test_a_bare_machine_is_told_what_each_command_lacks(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "_FONTS", (tmp_path,))
    browsers = {"chromium", "fonts-noto-cjk", "firefox-esr", "webkit2gtk-driver", "xvfb"}
    assert what("test", "cpu") >= browsers
    assert what("bench-course", "") >= {"chromium", "fonts-noto-cjk"}
    assert not what("bench-course", "") & {"firefox-esr", "xvfb"}
    assert not what("lab", "cpu") & {*browsers, "gcc"}
    assert "gcc" in what("lab", "cuda")
    assert what("course", "") & {*browsers, "gcc", "libnuma1"} == {"fonts-noto-cjk"}


def test_what_is_there_is_not_asked_for(programs: Programs) -> None:
    programs(google_chrome="exit 0", firefox="exit 0", Xvfb="exit 0", gcc="exit 0", fc_list="echo Noto Sans CJK")
    assert not what("test", "cuda") & {"chromium", "fonts-noto-cjk", "firefox-esr", "xvfb", "gcc"}


@pytest.mark.parametrize(
    ("found", "named", "is_there"),
    [
        ("gcc", None, True),
        ("clang", None, True),
        ("cc", None, False),
        ("my-cc", "my-cc", True),
        ("gcc", "no-such-cc", False),
    ],
)
def test_a_compiler_is_one_where_triton_finds_it(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, found: str, named: str | None, is_there: bool
) -> None:
    programs(**{found.replace("-", "_"): "exit 0"})
    monkeypatch.delenv("CC", raising=False)
    if named:
        monkeypatch.setenv("CC", named)
    assert ("gcc" not in what("lab", "cuda")) is is_there


def test_fontconfig_without_a_chinese_font_is_a_lack(programs: Programs) -> None:
    programs(fc_list="exit 0")
    assert "fonts-noto-cjk" in what("test", "cpu")


def test_every_need_has_packages_for_every_manager() -> None:
    for need in NEEDS:
        assert set(need.packages) == {"apt", "dnf", "pacman"}
        assert all(need.packages.values())


@pytest.mark.parametrize(
    ("manager", "root", "line"),
    [
        (
            "apt",
            False,
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends tinything libtiny",
        ),
        ("apt", True, "apt-get update && apt-get install -y --no-install-recommends tinything libtiny"),
        ("dnf", False, "sudo dnf install -y tinything-libs"),
        ("pacman", True, "pacman -S --needed --noconfirm tiny"),
        ("", True, "the system's own package manager; Debian's names are: tinything libtiny"),
    ],
)
def test_one_line_brings_all_of_it(one_need: Need, programs: Programs, manager: str, root: bool, line: str) -> None:
    programs(sudo="exit 42")
    assert packages.install_line([one_need, one_need], manager, root) == line


def test_without_root_the_line_is_told_and_nothing_runs(
    one_need: Need, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(apt_get="exit 42", sudo="exit 42")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        MachineError, match=r"a tiny thing\nThis brings it: sudo apt-get update && sudo apt-get install"
    ):
        look("check", "auto")


def test_root_without_apt_is_told_the_line(one_need: Need, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(dnf="exit 42")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(MachineError, match="This brings it: dnf install -y tinything-libs"):
        look("check", "auto")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.usefixtures("root")
def test_root_with_apt_gets_it_installed_and_is_told_so(
    one_need: Need, programs: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """A stand-in for apt-get: the real one would change the machine of whoever runs the tests."""
    directory = programs(
        apt_get='case "$*" in *tinything*) : > "${0%/*}/tinything"; /bin/chmod +x "${0%/*}/tinything";; esac'
    )
    look("check", "auto")
    assert (directory / "tinything").exists()
    assert "a tiny thing\nThis brings it: apt-get update && apt-get install" in capfd.readouterr().out


@pytest.mark.usefixtures("root")
def test_an_apt_that_fails_is_one_message(one_need: Need, programs: Programs) -> None:
    programs(apt_get="echo 'E: Unable to locate package tinything' >&2; exit 100")
    with pytest.raises(MachineError, match="that failed: E: Unable to locate package tinything\nPut it right"):
        look("check", "auto")


@pytest.mark.usefixtures("root")
def test_an_apt_that_brings_nothing_is_found_out(one_need: Need, programs: Programs) -> None:
    programs(apt_get="exit 0")
    with pytest.raises(MachineError, match="not found all the same: a tiny thing"):
        look("check", "auto")


@pytest.mark.usefixtures("root")
def test_where_space_or_memory_lacks_too_all_of_it_is_told_and_nothing_installed(
    one_need: Need, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(apt_get="exit 42")
    monkeypatch.setattr(space, "complaint", lambda *_: "no room")
    monkeypatch.setattr(memory, "complaint", lambda *_: "no memory")
    with pytest.raises(MachineError, match=r"^no room\nno memory\nmake check needs, .*: a tiny thing\nThis brings it"):
        look("check", "auto")


def test_space_that_is_not_there_is_told_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9))
    told = space.complaint("lab", "cpu", tmp_path)
    assert told.startswith("make lab sets up the project's environment 1.3 GB, the CPU engine 4.0 GB; ")
    assert "1.0 GB free" in told


@pytest.mark.parametrize(("writable", "fault"), [(False, "can't be written to"), (None, "does not exist")])
def test_a_directory_that_engines_need_and_that_is_not_to_be_had_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool | None, fault: str
) -> None:
    directory = tmp_path / "shm"
    monkeypatch.setattr(space, "ENGINE_DIRECTORIES", {directory: "their processes share memory"})
    if writable is False:
        directory.mkdir()
        monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write wherever the mount allows it
    with pytest.raises(MachineError, match=f"their processes share memory, and {directory} {fault}"):
        look("lab", "cpu")
    directory.mkdir(exist_ok=True)
    monkeypatch.undo()
    look("lab", "cpu")


def test_too_little_shared_memory_is_told_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: _Usage(2**26 if place == space.SHARED_MEMORY else 2**40))
    with pytest.raises(MachineError, match=r"share 512 MiB; /dev/shm has 64 MiB free.*--shm-size"):
        look("lab", "cpu")
    look("course", "auto")


def test_space_that_a_torch_with_cuda_might_lack_is_said_and_refuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(8 * 10**9))
    assert space.complaint("lab", "cpu", tmp_path) == ""
    assert "4 GB, 11 GB where pip finds no CPU build of torch; 8.0 GB" in space.remark("lab", "cpu", tmp_path)
    assert space.remark("lab", "cuda", tmp_path) == space.remark("course", "", tmp_path) == ""


def test_without_sudo_the_line_is_for_root(one_need: Need, programs: Programs) -> None:
    programs()
    assert packages.install_line([one_need], "apt", root=False).startswith("as root: apt-get update && apt-get install")


def test_a_mac_has_chinese_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "Chinese fonts" not in [need.what for need in needs.missing("course", "")]


def test_what_is_set_up_already_needs_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(2 * 10**9))
    assert space.complaint("lab", "cpu", tmp_path)
    for part in space.FOOTPRINTS:
        (tmp_path / part.stamp).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / part.stamp).touch()
    assert space.complaint("lab", "cpu", tmp_path) == ""


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


@pytest.mark.parametrize(("room", "engines"), [(None, 2), (8.0, 2), (2.2, 1)])
def test_engines_are_up_at_once_where_memory_holds_them(
    room: float | None, engines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: room and int(room * memory.GIB))
    assert memory.engines_that_fit(memory.COUNTED_BYTES) == engines


def test_where_two_have_to_be_up_at_once_room_for_one_is_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: int(2.2 * memory.GIB))
    with pytest.raises(MachineError, match=r"two engines at once take 2\.6 GiB of memory, and 2\.2 GiB can be had"):
        memory.engines_that_fit(memory.COUNTED_BYTES, least=2)


def test_a_larger_model_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: 4 * memory.GIB)
    assert memory.engines_that_fit(memory.COUNTED_BYTES) == 2
    assert memory.engines_that_fit(memory.COUNTED_BYTES + memory.GIB) == 1
    with pytest.raises(MachineError, match=r"an engine takes 4\.\d GiB of memory, and 4\.0 GiB can be had"):
        memory.engines_that_fit(memory.COUNTED_BYTES + 3 * memory.GIB)


def test_too_little_memory_is_told_before_anything_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "memory_limit_bytes", lambda: memory.GIB)
    assert "1.0 GiB: give it more" in memory.complaint("lab", "cpu")
    assert memory.complaint("course", "") == memory.complaint("lab", "cuda") == ""
