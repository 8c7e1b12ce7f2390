"""Faults on the real engine, and whether the needle tells them. ``lab survive`` runs in test_experiment.py; all of
``lab stress`` takes too long for a test."""

from collections.abc import Iterator

import pytest

from kvtiers.deployment.alarms import alarms
from kvtiers.result.survival import Scenario
from lab.engines.presets import PRESETS
from lab.judge.asker import Check
from lab.judge.needle import NeedleResult, run_needle
from lab.judge.points import State
from lab.judge.two_engines import proven, run_pair
from lab.knobs import Knobs
from lab.launches import LocalRun
from lab.trials.case import run
from lab.trials.run import stage_for
from lab.trials.stage import Stage
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


def test_every_alarm_reads_a_metric_that_the_engines_show(standing: Stage) -> None:
    standing.stand()
    standing.first.ask(standing.new_document("alarms"))
    standing.settle()
    shown = {sample.name for sample in (*standing.first.client.samples(), *standing.cache.samples())}
    assert [name for alarm in alarms() for name in alarm.metrics() if name not in shown] == []


def test_two_engines_find_what_the_other_computed_until_their_server_is_gone(standing: Stage) -> None:
    standing.stand()
    standing.second.start()
    engines = [engine.process for engine in (standing.first, standing.second)]
    wanted = [Check(engine.url) for engine in engines if engine]
    shared = run_pair(wanted)
    assert {point.state for point in shared} == {State.OK}, shared
    assert proven(shared)
    standing.stop_server()
    standing.await_degraded()
    alone = {point.name: point for point in run_pair(wanted)}
    assert "not found again" in alone["A to B"].what, alone
    assert (alone["A to B"].state, alone["B to A"].state) == (State.FAILED, State.FAILED)
    standing.second.stop()


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
