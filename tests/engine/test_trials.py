"""Faults on the real engine, and whether the needle tells them. ``lab survive`` runs in test_experiment.py; all of
``lab stress`` takes too long for a test."""

from collections.abc import Iterator

import pytest

from kvtiers.result.survival import Scenario
from lab.engines.presets import PRESETS
from lab.judge.asker import Check
from lab.judge.needle import NeedleResult, run_needle
from lab.judge.points import State
from lab.knobs import Knobs
from lab.launches import LocalRun
from lab.trials.case import run
from lab.trials.stage import Stage, stage_for
from lab.trials.stress import STRESS

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One engine beside one server for all of them. Logs, and with them the clone's one run, are another test's."""
    logs = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("lab.run_directory", "lab.trials.stage", "lab.trials.engine"):
            patch.setattr(f"{module}.LOGS", logs)
        with stage_for(LocalRun(PRESETS["tiny"], Knobs(control=False))) as stage:
            yield stage


@pytest.mark.parametrize("scenario", [Scenario.CHUNK_DAMAGED, Scenario.DRIVE_FULL])
def test_a_fault_goes_as_expected(standing: Stage, scenario: Scenario) -> None:
    outcome = run(standing, scenario, STRESS[scenario])
    assert outcome.met, outcome


def needle(standing: Stage, damaged: bool) -> NeedleResult:
    standing.stand()
    known = standing.files()

    def meddle() -> None:
        for path in standing.files() - known if damaged else ():
            path.write_bytes(bytes(path.stat().st_size))

    assert standing.first.process is not None
    wanted = Check(standing.first.process.url, server=standing.server.url)
    return run_needle(wanted, prompts=3, empty_ram=True, before_asking_again=meddle)


def test_the_needle_passes_what_comes_back_right(standing: Stage) -> None:
    verdict = needle(standing, damaged=False)
    assert (verdict.state, verdict.came_back) == (State.OK, 3), verdict


def test_the_needle_calls_damaged_chunks(standing: Stage) -> None:
    verdict = needle(standing, damaged=True)
    assert (verdict.state, len(verdict.wrong)) == (State.FAILED, 3), verdict
