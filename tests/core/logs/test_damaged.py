"""Nothing in a log raises."""

import io
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.lines import SETTINGS as SETTINGS_SHOWN
from kvtiers.logs.read import read_log, read_log_text
from kvtiers.logs.state import Log
from kvtiers.words import LANGUAGES
from tests.core.logs.builders import ENGINE, info, lookup
from tests.core.logs.conclusions import CONCLUSIONS

FUZZ_DEADLINE = timedelta(seconds=3)  # one input; the machine may be busy


def read_any(text: str) -> Log | None:
    try:
        return read_log_text(text)
    except KvtiersError:
        return None


@settings(deadline=FUZZ_DEADLINE)
@given(st.text(max_size=400))
def test_any_text_is_read_or_is_no_log(text: str) -> None:
    log = read_any(text)
    assert log is None or conclude(log).conclusion.what()


@pytest.mark.parametrize("value", ["'many'", "[1]", "1e999", "{'a': 1}", "{1, 2}", "b'x'", "-5", "[b'x']"])
@pytest.mark.parametrize("name", SETTINGS_SHOWN)
def test_a_damaged_setting_never_raises(name: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    config = info(f"Creating LMCacheEngine with config: {{'local_disk': '/mnt/kv', '{name}': {value}}}")
    path.write_text("\n".join([ENGINE, config, lookup("a", total=100)]))
    for form in ([], ["--json"]):
        assert main(["diagnose", *form, str(path)]) in (0, 1)


LINES = [line for _, lines in CONCLUSIONS for part in lines for line in part.splitlines()]


@settings(deadline=FUZZ_DEADLINE)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
def test_damaged_lines_never_raise(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    text = text[:start] + data.draw(st.text(max_size=5)) + text[start + data.draw(st.integers(0, 30)) :]
    log = read_any(text)
    for language in LANGUAGES if log else ():
        diagnosis = conclude(log)  # type: ignore[arg-type]
        assert all(problem.what(language) for problem in (*diagnosis.problems, diagnosis.conclusion))


@settings(deadline=FUZZ_DEADLINE)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    refused = ""
    try:
        read_log(io.BytesIO(data), "file")
    except KvtiersError as error:
        refused = str(error)
    assert not refused or "file" in refused
