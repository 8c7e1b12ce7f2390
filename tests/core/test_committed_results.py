"""The result files in the repository are what they say."""

from pathlib import Path

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.results import Mode, read_reported, read_result
from kvtiers.summary import summarize

REFERENCE = Path(__file__).parents[2] / "lab" / "results" / "reference"


def test_the_reference_run_is_valid_and_its_summary_follows_from_its_samples() -> None:
    result = read_result((REFERENCE / "cpu-tiny.json").read_text(encoding="utf-8"))
    assert result.valid
    assert result.mode is Mode.CPU
    assert result.machine.gpu == ""
    ceiling = result.summary.ceiling
    assert ceiling is not None
    assert result.summary == summarize(
        result.samples, result.model.kv_bytes_per_token, ceiling.drive_gb_per_s, ceiling.drive_source
    )


def test_the_published_table_is_marked_as_reported() -> None:
    text = (REFERENCE / "rtx4090-reported.json").read_text(encoding="utf-8")
    assert [row.cold_over_ssd_reuse for row in read_reported(text).rows] == [1.1, 1.2, 2.3]
    with pytest.raises(KvtiersError, match="reported by others"):
        read_result(text)


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.json")), ids=lambda path: path.name)
def test_no_committed_file_tells_whose_machine_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "/home/" not in text
    assert "/root" not in text
