"""The steps: cold, the same at once, two other documents through, the same again. On each arm, interleaved."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Evidence, contradictions
from kvtiers.result.schema import Sample
from kvtiers.result.steps import Arm, Moment, Step
from lab.judge.engine_log import EngineLog
from lab.measure.chunks import ChunkFiles
from lab.measure.client import Client
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import Document, TokenSource

FLOODS = 2


@dataclass
class Server:
    """One arm under test. ``log`` and ``chunk_files`` are None where there is nothing to read or to wait for."""

    arm: Arm
    client: Client
    check: Callable[[], None]
    log: EngineLog | None = None
    chunk_files: ChunkFiles | None = None
    chunks_stored: int = 0
    totals: dict[str, float] = field(default_factory=dict)

    def steps_after_eviction(self, page_cache: bool, repeat: int) -> tuple[Step, ...]:
        """What follows the floods on this arm, each step after floods of its own; the order alternates."""
        steps = tuple(
            step
            for step in Step
            if step.moment is Moment.EVICTED
            and self.arm in step.arms
            and step.tier is not Tier.CPU
            and (page_cache or not step.page_cache)
        )
        return steps if repeat % 2 else steps[::-1]


@dataclass(frozen=True)
class Experiment:
    """What to run: each document ``repeats`` times, with floods of ``flood_tokens`` in between."""

    documents: tuple[Document, ...]
    source: TokenSource
    flood_tokens: int
    floods: int
    repeats: int
    max_tokens: int
    chunk_tokens: int | None
    page_cache: bool = False

    def requests(self, servers: Sequence[Server]) -> int:
        """How many requests a run takes, warm-up included."""
        rounds = self.repeats * len(self.documents) + 1
        late = sum(len(server.steps_after_eviction(self.page_cache, 0)) for server in servers)
        return rounds * (2 * len(servers) + late * (1 + self.floods))


class Runner:
    """Runs an experiment on one or more servers. ``on_request`` is told what is asked next."""

    def __init__(self, experiment: Experiment, servers: Sequence[Server], on_request: Callable[[str], None]) -> None:
        self._experiment = experiment
        self._servers = tuple(servers)
        self._on_request = on_request
        self._ids = (f"kvtiers-{number}" for number in itertools.count())

    def run(self) -> Iterator[Sample]:
        """Yield samples as they are taken, so that a run that breaks off keeps those it has.

        Between servers the order alternates from round to round: what is compared is measured side by side.

        Raises:
            LabError: from the client, the counters, the log or the engine's own end.
        """
        experiment = self._experiment
        for server in self._servers:
            server.totals = read_totals(server.client)
        # The first round is thrown away: it pays for lazy imports, first-touch memory and cold files on every path.
        warm_up = experiment.source.document("warm-up", len(experiment.documents[0].token_ids))
        for _ in self._round(self._servers, warm_up, repeat=0):
            pass
        for repeat in range(1, experiment.repeats + 1):
            order = self._servers if repeat % 2 else tuple(reversed(self._servers))
            for document in experiment.documents:
                yield from self._round(order, experiment.source.salted(document, repeat), repeat)

    def _round(self, servers: Sequence[Server], document: Document, repeat: int) -> Iterator[Sample]:
        for step in (Step.COLD, Step.GPU_HIT):
            for server in servers:
                yield self._measure(server, step, document, repeat)
        late = [server.steps_after_eviction(self._experiment.page_cache, repeat) for server in servers]
        for turn in range(max(map(len, late))):
            asked = [(server, steps[turn]) for server, steps in zip(servers, late, strict=True) if turn < len(steps)]
            for server, _ in asked:
                for number in range(self._experiment.floods):
                    self._flood(server, f"{document.name}/flood-{repeat}-{turn}-{number}")
            for server, step in asked:
                _settle(server, step)
            for server, step in asked:
                yield self._measure(server, step, document, repeat)

    def _flood(self, server: Server, name: str) -> None:
        self._on_request(f"{server.arm} flood")
        server.check()
        flood = self._experiment.source.document(name, self._experiment.flood_tokens)
        server.client.complete(flood.token_ids, 1, next(self._ids))
        _, server.totals = await_deltas(server.client, server.totals)
        self._count_chunks(server, flood)

    def _measure(self, server: Server, step: Step, document: Document, repeat: int) -> Sample:
        self._on_request(f"{server.arm} {step}")
        server.check()
        request_id = next(self._ids)
        completion = server.client.complete(document.token_ids, self._experiment.max_tokens, request_id)
        counters, server.totals = await_deltas(server.client, server.totals)
        log = server.log.request(request_id, step) if server.log else None
        if step is Step.COLD:
            self._count_chunks(server, document)
        return Sample(
            arm=server.arm,
            step=step,
            document=document.name,
            repeat=repeat,
            prompt_tokens=completion.prompt_tokens,
            ttft_s=completion.ttft_s,
            tpot_s=completion.tpot_s,
            evidence=Evidence(log, counters, completion.token_ids),
        )

    def _count_chunks(self, server: Server, document: Document) -> None:
        if self._experiment.chunk_tokens:
            server.chunks_stored += len(document.token_ids) // self._experiment.chunk_tokens


def _settle(server: Server, step: Step) -> None:
    """Wait for what LMCache writes behind the answers, and put its chunk files where ``step`` wants them."""
    files = server.chunk_files
    if files is None:
        return
    files.await_written(server.chunks_stored, server.check)
    if step.page_cache:
        files.enter_page_cache()
    else:
        files.leave_page_cache()


def unequal_answers(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Greedy answers to one document must be the same on every step and arm; where they are not, the KV was wrong."""
    found = []
    for (document, repeat), group in itertools.groupby(sorted(samples, key=_place), key=_place):
        first, *others = group
        for other in others:
            if other.evidence.token_ids != first.evidence.token_ids:
                found.append(
                    f"{document}, repeat {repeat}: {other.arm} {other.step} generated other tokens than "
                    f"{first.arm} {first.step}"
                )
    return tuple(found)


def contradicted(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Every sample whose evidence contradicts its name, and why."""
    return tuple(
        f"{sample.document}, repeat {sample.repeat}, {sample.arm} {sample.step}: {why}"
        for sample in samples
        for why in contradictions(sample.step, sample.prompt_tokens, sample.evidence)
    )


def _place(sample: Sample) -> tuple[str, int]:
    return sample.document, sample.repeat
