"""``python3 -m machine`` as make calls it, and what an unfit Python is told."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from machine.pythons import complaint

REPOSITORY = Path(__file__).resolve().parents[2]


def machine(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "machine", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


def test_a_fit_machine_goes_on_without_a_word() -> None:
    done = machine("check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("lab", "tpu")])
def test_what_is_not_a_command_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    done = machine(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python3 -m machine")


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_pythons_that_fit_are_not_complained_of(version: tuple[int, int]) -> None:
    assert complaint("lab", True, version) == complaint("course", False, version) == ""


@pytest.mark.parametrize("version", [(3, 6), (3, 10), (3, 14), (3, 15)])
def test_a_python_that_does_not_fit_is_named_with_what_to_type(version: tuple[int, int]) -> None:
    told = complaint("lab", True, version)
    assert told.startswith(f"make lab needs Python 3.11 to 3.13; this is 3.{version[1]}: ")
    assert "make PYTHON=python3." in told
    assert "\n" not in told


def test_the_course_is_built_with_a_python_that_the_engine_has_no_wheels_for() -> None:
    assert complaint("course", False, (3, 14)) == ""
    assert "needs Python 3.11 to 3.14" in complaint("course", False, (3, 15))


def test_without_a_fitting_one_on_path_it_is_to_be_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install Python 3.12, then make PYTHON=python3.12 lab" in complaint("lab", True, (3, 8))


@pytest.mark.parametrize("name", ["__init__", "__main__", "commands", "pythons"])
def test_an_old_python_can_read_what_tells_it_so(name: str) -> None:
    ast.parse((REPOSITORY / "machine" / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 6))
