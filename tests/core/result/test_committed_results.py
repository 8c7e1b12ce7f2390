"""The result files in the repository are what they say."""

from pathlib import Path

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.schema import Mode, read_reported, read_result
from kvtiers.result.steps import Arm, Step
from kvtiers.result.summary import summarize

REFERENCE = Path(__file__).parents[3] / "lab" / "results" / "reference"


def test_the_reference_run_is_valid_and_its_summary_follows_from_its_samples() -> None:
    result = read_result((REFERENCE / "cpu-tiny.json").read_text(encoding="utf-8"))
    assert result.valid
    assert result.mode is Mode.CPU
    assert result.machine.gpu == ""
    ceiling = result.summary.ceiling
    assert ceiling is not None
    assert result.summary == summarize(
        result.samples, "seeded", result.model.kv_bytes_per_token, ceiling.drive_gb_per_s, ceiling.drive_source
    )


@pytest.mark.parametrize("name", ["cpu-tiny-page-cache", "cpu-tiny-page-cache-long"])
def test_runs_with_and_without_the_page_cache_differ_in_that_alone(name: str) -> None:
    result = read_result((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))
    assert result.valid
    assert result.settings.direct_io is False
    drive, memory = (result.summary.step(Arm.LMCACHE, step) for step in (Step.SSD_REUSE, Step.PAGE_CACHE_REUSE))
    assert drive is not None
    assert memory is not None
    assert drive.samples == memory.samples == result.settings.repeats
    assert memory.ttft.max_s < drive.ttft.min_s


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
