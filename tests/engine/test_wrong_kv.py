"""What the lab makes of KV that comes back damaged: a run on the real engine, with chunk files changed under it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from kvtiers.ledger.tiers import Tier
from kvtiers.result.steps import Arm, Step
from lab.engines.presets import PRESETS
from lab.engines.shared_memory import shared_memory
from lab.judge.answers import differences, is_rounding, wrong_answers
from lab.judge.server_log import CacheServerLog
from lab.knobs import FLOODS, Knobs
from lab.launches import LocalRun, pool_of, running
from lab.measure.cache_server import CacheServer
from lab.measure.chunks import ChunkFiles
from lab.measure.client import Client
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import TokenSource, ordinary_ids
from lab.measure.scenarios import Experiment, Target
from lab.report.outcome import Collected, collect
from tests.engine.life import CHUNK_BYTES, DOCUMENT_TOKENS, TIMEOUT_S, VOCABULARY, planned

pytestmark = pytest.mark.engine


class Damaged(ChunkFiles):
    """Before each reuse from the drive a part of every chunk there is overwritten with zeros."""

    def leave_page_cache(self) -> None:
        for file in self._files():
            whole = bytearray(file.read_bytes())
            whole[: len(whole) // 2] = bytes(len(whole) // 2)
            file.write_bytes(whole)


@dataclass(frozen=True)
class Run:
    collected: Collected
    client: Client
    experiment: Experiment


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    wanted = LocalRun(PRESETS["tiny"], Knobs(control=False, repeats=2))
    source = TokenSource(ordinary_ids(VOCABULARY), seed=0)
    pool = pool_of(wanted)
    experiment = Experiment(
        (source.document("seeded", DOCUMENT_TOKENS),), source, pool.flood_tokens(DOCUMENT_TOKENS), FLOODS, wanted.knobs
    )
    with ExitStack() as stack:
        chunks, launches = stack.enter_context(planned(wanted))
        stack.enter_context(shared_memory(chunks.name, 0.5))
        server, engine = stack.enter_context(running(launches, tmp_path_factory.mktemp("logs"), TIMEOUT_S))
        client = Client(engine.url, wanted.preset.name)
        stack.callback(client.close)
        target = Target(Arm.LMCACHE, client, engine.check, (Tier.CPU, Tier.SSD))
        target.chunk_files = Damaged(chunks, CHUNK_BYTES, direct_io=False)
        target.cache_server = CacheServer(server.url, CacheServerLog(server.log_path))
        stack.callback(target.cache_server.close)
        collected = Collected()
        collect(experiment, [target], collected)
        yield Run(collected, client, experiment)


def test_damaged_chunks_are_told_by_name_and_nothing_else_is(run: Run) -> None:
    assert run.collected.problems == []
    assert {found.other.step for found in differences(run.collected.samples)} == {Step.SSD_REUSE}
    told = wrong_answers(run.collected.samples, run.collected.partings)
    assert len(told) >= 2
    assert all("lmcache ssd_reuse generated" in line for line in told)
    assert any("over the same KV" in line for line in told)


def test_the_damaged_token_lies_further_off_than_rounding_explains(run: Run) -> None:
    gaps = [parting.gap_nats for parting in run.collected.partings]
    assert len(gaps) == 2
    assert not any(map(is_rounding, gaps)), gaps


def test_logprobs_are_computed_anew_whatever_lies_in_the_caches(run: Run) -> None:
    document, _ = list(run.experiment.asked())[-1]
    run.client.complete(document.token_ids, 1, "held-now")
    before = read_totals(run.client)
    held = run.client.complete(document.token_ids, 1, "held").token_ids[0]
    hit, before = await_deltas(run.client, before)
    assert hit.own_hits + hit.external_hits > 0
    assert run.client.gap_nats(document.token_ids, held, held) == 0
    computed, _ = await_deltas(run.client, before)
    assert (computed.own_hits, computed.external_hits) == (0, 0)
    assert computed.prefill_s > hit.prefill_s


def test_a_token_that_no_one_expects_has_no_gap(run: Run) -> None:
    document, _ = list(run.experiment.asked())[-1]
    likely = run.client.complete(document.token_ids, 1, "likely").token_ids[0]
    assert run.client.gap_nats(document.token_ids, likely, VOCABULARY + 1) is None
