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
