"""The result files in the repository are what they say."""

import json
from pathlib import Path

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.result.compare import WIRINGS
from kvtiers.result.schema import Mode, Result, read_result
from kvtiers.result.steps import Arm, Step
from kvtiers.result.summary import summarize
from kvtiers.settings.version_pairs import LMCacheMode

REFERENCE = Path(__file__).parents[3] / "lab" / "results" / "reference"


def read(name: str) -> Result:
    return read_result((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def test_the_reference_run_is_valid_and_its_summary_follows_from_its_samples() -> None:
    result = read("cpu-tiny")
    assert result.valid
    assert result.mode is Mode.CPU
    assert result.machine.gpu == ""
    assert result.summary == summarize(result.samples, "seeded")


@pytest.mark.parametrize("name", WIRINGS)
def test_no_run_was_faster_than_its_drive(name: str) -> None:
    """What the drive had of a reuse, by LMCache's own account, and the other parts are its time to the first token."""
    for parts in read(name).summary.reuse_parts:
        assert parts.prefetch_s + parts.retrieve_s + parts.prefill_s + parts.rest_s == pytest.approx(parts.ttft_s)
        assert parts.drive_share is None or 0 < parts.drive_share < 1


def test_every_step_of_the_server_is_in_the_reference_run() -> None:
    result = read("cpu-tiny")
    measured = {row.step for row in result.summary.steps if row.arm is Arm.LMCACHE}
    assert measured == {Step.COLD, Step.GPU_HIT, Step.CPU_HIT, Step.SSD_REUSE, Step.SSD_AFTER_RESTART}


def test_what_is_shown_side_by_side_was_measured_on_one_machine_and_day() -> None:
    runs = [read(name) for name in WIRINGS]
    assert all(run.valid for run in runs)
    assert len({(run.machine, run.created[:10], run.versions) for run in runs}) == 1
    modes = [run.lmcache_mode for run in runs]
    assert modes == [LMCacheMode.MP, LMCacheMode.IN_PROCESS, LMCacheMode.MP, LMCacheMode.IN_PROCESS]


@pytest.mark.parametrize("name", ["cpu-tiny-page-cache", "cpu-tiny-page-cache-long"])
def test_runs_with_and_without_the_page_cache_differ_in_that_alone(name: str) -> None:
    result = read(name)
    assert result.valid
    assert result.settings.direct_io is False
    drive, memory = (result.summary.step(Arm.LMCACHE, step) for step in (Step.SSD_REUSE, Step.PAGE_CACHE_REUSE))
    assert drive is not None
    assert memory is not None
    assert drive.samples == memory.samples == result.settings.repeats


def test_the_published_table_is_marked_as_reported() -> None:
    text = (REFERENCE / "rtx4090-reported.json").read_text(encoding="utf-8")
    assert [row["cold_over_ssd_reuse"] for row in json.loads(text)["rows"]] == [1.1, 1.2, 2.3]
    with pytest.raises(KvtiersError, match="reported by others"):
        read_result(text)


@pytest.mark.parametrize("path", sorted(REFERENCE.glob("*.json")), ids=lambda path: path.name)
def test_no_committed_file_tells_whose_machine_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "/home/" not in text
    assert "/root" not in text
