"""``kvtiers diagnose``: logs in, a conclusion and an exit status out."""

import io
import json
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from kvtiers.words import LANGUAGES
from tests.core.logs.builders import DATA, REAL, diagnose
from tests.core.logs.conclusions import CONCLUSIONS


@pytest.mark.parametrize(
    ("name", "conclusion", "status"),
    [
        ("limit0", "no_disk_tier", 1),
        ("degraded", "degraded", 1),
        ("builtin", "works", 0),
        ("cpu", "works", 0),
        ("short", "too_short", 1),
    ],
)
def test_logs_of_real_faults(name: str, conclusion: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--json", str(DATA / f"{name}.log")]) == status
    assert json.loads(capsys.readouterr().out)["conclusion"]["id"] == conclusion


@pytest.mark.parametrize("shown", ["0", "2", "100"])
def test_the_conclusion_does_not_hang_on_how_many_requests_are_shown(
    shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--json", "--requests", shown, str(REAL)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["conclusion"]["id"], len(said["last_requests"])) == ("works", min(int(shown), 15))


def test_the_command_reads_files_and_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(REAL)]) == 0
    said = capsys.readouterr().out
    assert "[works]" in said
    assert "tier hit" in said
    assert main(["diagnose", "--language", "zh-TW", str(DATA / "limit0.log")]) == 1
    assert "硬碟層" in capsys.readouterr().out
    assert main(["diagnose", str(tmp_path / "none.log")]) == 2


def test_what_cannot_be_read_does_not_hide_the_other_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.log"
    other.write_text("hello\n")
    missing = str(tmp_path / "none.log")
    for logs in ([str(REAL), missing, str(other)], [missing, str(REAL), str(other)]):
        assert main(["diagnose", *logs]) == 2
        said = capsys.readouterr()
        assert "[works]" in said.out
        assert "none.log" in said.err
        assert "other.log holds no line" in said.err


def test_an_engine_given_with_its_lmcache_server_is_not_asked_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    engine, server = (str(REAL.with_name(f"cpu-tiny-{name}.log")) for name in ("engine", "server"))
    assert main(["diagnose", engine, server]) == 0
    assert "[see_the_server]" in capsys.readouterr().out
    assert main(["diagnose", engine]) == 0
    assert "[ask_the_server]" in capsys.readouterr().out


def test_json_says_what_is_certain(capsys: pytest.CaptureFixture[str]) -> None:
    for name, certain in ((DATA / "limit0.log", True), (DATA / "restart.log", False)):
        main(["diagnose", "--json", str(name)])
        assert json.loads(capsys.readouterr().out)["conclusion"]["certain"] is certain


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REAL.read_bytes())))
    assert main(["diagnose", "-", "-"]) == 2
    assert "standard input can be read once" in capsys.readouterr().err
    assert main(["diagnose", "-"]) == 0


def test_json_is_in_one_language() -> None:
    """What is known of a pair of versions is known in each language."""
    lines = next(lines for name, lines in CONCLUSIONS if name == "known_bad_pair")
    conclusion = diagnose("\n".join(lines)).conclusion
    said = {language: conclusion.to_json(language)["values"]["what"] for language in LANGUAGES}
    assert said["en"] != said["zh-TW"]
    assert all(what in conclusion.what(language) for language, what in said.items())
