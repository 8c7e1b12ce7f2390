"""What one engine beside one server is asked: ``lab check``, faults, the needle, and what the lab makes of damaged KV.
``lab survive`` runs in test_experiment.py; all of ``lab stress`` takes too long for a test."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from kvtiers.deployment.alarms import alarms
from kvtiers.ledger.tiers import Tier
from kvtiers.result.steps import Arm, Step
from kvtiers.result.survival import Scenario
from lab.engines.presets import PRESETS
from lab.judge.answers import differences, is_rounding, wrong_answers
from lab.judge.asker import Check
from lab.judge.check import run_check
from lab.judge.needle import NeedleResult, run_needle
from lab.judge.points import Point, State
from lab.judge.server_log import CacheServerLog
from lab.judge.two_engines import proven, run_pair
from lab.knobs import FLOODS, Knobs
from lab.launches import LocalRun
from lab.measure.cache_server import CacheServer
from lab.measure.chunks import ChunkFiles
from lab.measure.client import Client
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import TokenSource, ordinary_ids
from lab.measure.scenarios import Experiment, Target
from lab.report.outcome import Collected, collect
from lab.trials.case import run
from lab.trials.engine import Prompt
from lab.trials.run import stage_for
from lab.trials.stage import Stage
from lab.trials.stress import STRESS
from tests.engine.life import CHUNK_BYTES, DOCUMENT_TOKENS, POINTS, VOCABULARY

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


@pytest.fixture(scope="module")
def points(standing: Stage) -> dict[str, Point]:
    """What ``lab check`` says of it; in its log there are no faults of other tests."""
    standing.stop()
    standing.stand()
    assert standing.first.process is not None
    wanted = Check(standing.first.process.url, standing.server.log_path, server=standing.server.url)
    return {point.name: point for point in run_check(wanted)}


@pytest.mark.parametrize("name", POINTS)
def test_the_labs_own_engine_passes(points: dict[str, Point], name: str) -> None:
    assert points[name].state is State.OK, points[name]


def test_lmcaches_server_says_which_tier_answered(points: dict[str, Point]) -> None:
    assert points["server"].state is State.OK, points
    assert "engines registered: 1" in points["server"].what
    # How much depends on the random documents: four or five chunks each.
    tier = points["tier"].what
    came_back, from_ram = re.findall(r"([\d,]+) (?:tokens came back|out of its RAM \(L1\), 0 from)", tier)
    assert came_back == from_ram


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


def forget_locks(standing: Stage) -> None:
    """A look at logprobs may leave chunks locked in a server for five minutes: the next test gets a new one."""
    standing.stop_server()


def needle(standing: Stage, damaged: bool) -> NeedleResult:
    standing.stand()
    known = standing.files()

    def meddle() -> None:
        for path in standing.files() - known if damaged else ():
            path.write_bytes(bytes(path.stat().st_size))

    assert standing.first.process is not None
    wanted = Check(standing.first.process.url, server=standing.server.url)
    found = run_needle(wanted, prompts=3, empty_ram=True, before_asking_again=meddle)
    forget_locks(standing)
    return found


def test_the_needle_passes_what_comes_back_right(standing: Stage) -> None:
    verdict = needle(standing, damaged=False)
    assert (verdict.state, verdict.came_back) == (State.OK, 3), verdict


def test_the_needle_calls_damaged_chunks(standing: Stage) -> None:
    verdict = needle(standing, damaged=True)
    assert (verdict.state, len(verdict.wrong)) == (State.FAILED, 3), verdict


class Damaged(ChunkFiles):
    """Before each reuse from the drive a part of every chunk there is overwritten with zeros."""

    def leave_page_cache(self) -> None:
        for file in self._files():
            whole = bytearray(file.read_bytes())
            whole[: len(whole) // 2] = bytes(len(whole) // 2)
            file.write_bytes(whole)


@dataclass(frozen=True)
class Measured:
    collected: Collected
    document: Prompt  # the last that was asked for


@pytest.fixture(scope="module")
def damaged(standing: Stage) -> Measured:
    """The experiment, as ``lab run`` measures it, with chunk files changed under it."""
    standing.stand()
    source = TokenSource(ordinary_ids(VOCABULARY), seed=0)
    document = source.document("seeded", DOCUMENT_TOKENS)
    knobs = Knobs(control=False, repeats=2)
    experiment = Experiment((document,), source, standing.pool.flood_tokens(DOCUMENT_TOKENS), FLOODS, knobs)
    process = standing.first.process
    assert process is not None
    target = Target(Arm.LMCACHE, standing.first.client, process.check, (Tier.CPU, Tier.SSD))
    target.chunk_files = Damaged(standing.directory, CHUNK_BYTES, direct_io=False)
    collected = Collected()
    with closing(CacheServer(standing.server.url, CacheServerLog(standing.server.log_path))) as target.cache_server:
        collect(experiment, [target], collected)
    forget_locks(standing)
    last, _ = list(experiment.asked())[-1]
    return Measured(collected, last.token_ids)


@pytest.fixture
def client(standing: Stage) -> Client:
    """Of the engine, whatever the test before did to it."""
    standing.stand()
    return standing.first.client


def test_damaged_chunks_are_told_by_name_and_nothing_else_is(damaged: Measured) -> None:
    assert damaged.collected.problems == []
    assert {found.other.step for found in differences(damaged.collected.samples)} == {Step.SSD_REUSE}
    told = wrong_answers(damaged.collected.samples, damaged.collected.partings)
    assert len(told) >= 2
    assert all("lmcache ssd_reuse generated" in line for line in told)
    assert any("over the same KV" in line for line in told)


def test_the_damaged_token_lies_further_off_than_rounding_explains(damaged: Measured) -> None:
    gaps = [parting.gap_nats for parting in damaged.collected.partings]
    assert len(gaps) == 2
    assert not any(map(is_rounding, gaps)), gaps


def test_logprobs_are_computed_anew_whatever_lies_in_the_caches(damaged: Measured, client: Client) -> None:
    client.complete(damaged.document, 1, "held-now")
    before = read_totals(client)
    held = client.complete(damaged.document, 1, "held").token_ids[0]
    hit, before = await_deltas(client, before)
    assert hit.own_hits + hit.external_hits > 0
    assert client.gap_nats(damaged.document, held, held) == 0
    computed, _ = await_deltas(client, before)
    assert (computed.own_hits, computed.external_hits) == (0, 0)
    assert computed.prefill_s > hit.prefill_s


def test_a_token_that_no_one_expects_has_no_gap(damaged: Measured, client: Client) -> None:
    likely = client.complete(damaged.document, 1, "likely").token_ids[0]
    assert client.gap_nats(damaged.document, likely, VOCABULARY + 1) is None
