"""Logs from public reports, each with its right answer: tests/cases/logs.toml."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kvtiers.__main__ import main
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_text

CASES = Path(__file__).parents[2] / "cases"
TABLE: list[dict[str, Any]] = tomllib.loads((CASES / "logs.toml").read_text())["case"]


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case["file"])
def test_the_right_answer(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CASES / case["file"])
    status = main(["diagnose", "--json", path])
    said = json.loads(capsys.readouterr().out)
    reported = {said["conclusion"]["id"], *(problem["id"] for problem in said["problems"])}
    assert set(case.get("want", ())) <= reported
    assert not reported & set(case.get("never", ()))
    assert status == case["exit"]
    main(["diagnose", path])
    text = capsys.readouterr().out
    assert [words for words in case.get("says", ()) if words not in text] == []


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case["file"])
def test_a_log_pasted_in_the_browser_gets_the_same_answer(
    case: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = CASES / case["file"]
    main(["diagnose", "--json", str(path)])
    pasted = conclude(read_log_text(path.read_text()))
    assert json.loads(capsys.readouterr().out)["conclusion"]["id"] == pasted.conclusion.id


def test_every_log_has_its_answer() -> None:
    files = [path for path in (CASES / "logs").rglob("*") if path.is_file()]
    assert {str(path.relative_to(CASES)) for path in files} == {case["file"] for case in TABLE}
