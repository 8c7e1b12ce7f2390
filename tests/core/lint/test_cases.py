"""Settings from public reports, each to its right answer (tests/cases/settings.toml)."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kvtiers.lint import Source, report
from kvtiers.lint.formats import Format, write
from kvtiers.words import LANGUAGES

HERE = Path(__file__).parents[2] / "cases"
CASES: list[dict[str, Any]] = tomllib.loads((HERE / "settings.toml").read_text(encoding="utf-8"))["case"]


def files(case: dict[str, Any]) -> list[str]:
    return [case["file"]] if "file" in case else list(case["files"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: files(case)[0])
def test_a_case_gets_its_right_answer(case: dict[str, Any]) -> None:
    sources = [Source(name, (HERE / name).read_text(encoding="utf-8")) for name in files(case)]
    checked = report(sources)
    certain = {finding.id for finding in checked.findings if finding.certain}
    open_ = {finding.id for finding in checked.findings if not finding.certain}
    assert set(case.get("want", ())) <= certain
    assert set(case.get("cant_tell", ())) <= open_
    assert not set(case.get("never", ())) & certain
    if case.get("clean"):
        assert certain == set()
    else:
        assert certain
    said = write(checked, Format.TEXT, "en")
    assert [words for words in case.get("says", ()) if words not in said] == []
    for language in LANGUAGES:
        assert write(checked, Format.TEXT, language)


def test_every_text_has_a_case_and_every_case_its_source() -> None:
    named = {name for case in CASES for name in files(case)}
    there = {path.relative_to(HERE).as_posix() for path in (HERE / "settings").rglob("*") if path.is_file()}
    assert named == there
    assert all(case["source"] for case in CASES)
