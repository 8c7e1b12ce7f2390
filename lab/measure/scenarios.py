"""The steps of kvtiers.result.steps on each arm, interleaved, with what each needs before it."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Evidence, ServerCounters, ServerLog, contradictions
from kvtiers.result.schema import Sample
from kvtiers.result.steps import Arm, Moment, Step
from lab.judge.engine_log import EngineLog
from lab.knobs import Knobs
from lab.measure.cache_server import CacheServer
from lab.measure.chunks import ChunkFiles
from lab.measure.client import Client, Completion
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import Document, TokenSource


@dataclass
class Target:
    """One arm under test, with the ``tiers`` below its engine, None for one that can't be told. ``log`` is an engine's
    with LMCache inside, ``cache_server`` the one beside it; None where there is none to read or to wait for, like
    ``chunk_files``."""

    arm: Arm
    client: Client
    check: Callable[[], None]
    tiers: tuple[Tier | None, ...] = ()
    log: EngineLog | None = None
    cache_server: CacheServer | None = None
    chunk_files: ChunkFiles | None = None
    chunks_stored: int = 0
    totals: dict[str, float] = field(default_factory=dict)

    def steps(self, moment: Moment, page_cache: bool) -> tuple[Step, ...]:
        """What is asked on this arm at that moment."""
        return tuple(
            step
            for step in Step
            if step.moment is moment
            and self.arm in step.arms
            and step.tier in (*self.tiers, Tier.NONE, Tier.VRAM)
            and (page_cache or not step.page_cache)
        )


@dataclass(frozen=True)
class Experiment:
    """What to run: each document as often as ``knobs`` say, with ``floods`` of ``flood_tokens`` in between."""

    documents: tuple[Document, ...]
    source: TokenSource
    flood_tokens: int
    floods: int
    knobs: Knobs

    def requests(self, targets: Sequence[Target], again: bool) -> int:
        """How many requests ``Runner.run`` takes, warm-up included."""

        def steps(*moments: Moment) -> int:
            return sum(len(target.steps(moment, self.knobs.page_cache)) for target in targets for moment in moments)

        a_round = steps(Moment.FIRST, Moment.AT_ONCE) + steps(Moment.EVICTED) * (1 + self.floods)
        return (self.knobs.repeats * len(self.documents) + 1) * (steps(Moment.RESTARTED) if again else a_round)

    @property
    def warm_up(self) -> Document:
        """Asked first in every process's life, and not counted."""
        return self.source.document("warm-up", len(self.documents[0].token_ids))

    def asked(self) -> Iterator[tuple[Document, int]]:
        """Each document of each repeat, cold every time."""
        for repeat in range(1, self.knobs.repeats + 1):
            for document in self.documents:
                yield self.source.salted(document, repeat), repeat


class Runner:
    """Runs an experiment on one or more targets. ``on_request`` is told what is asked next."""

    def __init__(self, experiment: Experiment, targets: Sequence[Target], on_request: Callable[[str], None]) -> None:
        self._experiment = experiment
        self._targets = tuple(targets)
        self._on_request = on_request
        self._ids = (f"kvtiers-{number}" for number in itertools.count())

    def run(self, again: bool) -> Iterator[Sample]:
        """Yield samples as they are taken, so that a run that breaks off keeps those it has.

        Between targets the order alternates from round to round: what is compared is measured side by side. ``again``:
        the same documents, on processes that were started anew: what was kept across the restart?

        Raises:
            LabError: from the client, the counters, the log or a process's own end.
        """
        for target in self._targets:
            target.totals = read_totals(target.client)
        # The first round is thrown away: it pays for lazy imports, first-touch memory and cold files on every path.
        for document, repeat in [(self._experiment.warm_up, 0), *self._experiment.asked()]:
            targets = self._targets[::-1] if repeat and repeat % 2 == 0 else self._targets
            asked = (targets, document, repeat)
            for sample in self._ask(Moment.RESTARTED, *asked) if again else self._round(*asked):
                if repeat:
                    yield sample

    def _ask(self, moment: Moment, targets: Sequence[Target], document: Document, repeat: int) -> Iterator[Sample]:
        for target in targets:
            for step in target.steps(moment, self._experiment.knobs.page_cache):
                yield self._measure(target, step, document, repeat)

    def _round(self, targets: Sequence[Target], document: Document, repeat: int) -> Iterator[Sample]:
        for moment in (Moment.FIRST, Moment.AT_ONCE):
            yield from self._ask(moment, targets, document, repeat)
        page_cache = self._experiment.knobs.page_cache
        late = [_alternating(target.steps(Moment.EVICTED, page_cache), repeat) for target in targets]
        for turn in range(max(map(len, late))):
            asked = [(target, steps[turn]) for target, steps in zip(targets, late, strict=True) if turn < len(steps)]
            for target, _ in asked:
                for number in range(self._experiment.floods):
                    name = f"{document.name}/flood-{repeat}-{turn}-{number}"
                    flood = self._experiment.source.document(name, self._experiment.flood_tokens)
                    self._request(target, None, flood, max_tokens=1)
            for target, step in asked:
                _settle(target, step)
            for target, step in asked:
                yield self._measure(target, step, document, repeat)

    def _measure(self, target: Target, step: Step, document: Document, repeat: int) -> Sample:
        completion, evidence = self._request(target, step, document, self._experiment.knobs.max_tokens)
        return Sample(
            arm=target.arm,
            step=step,
            document=document.name,
            repeat=repeat,
            prompt_tokens=completion.prompt_tokens,
            ttft_s=completion.ttft_s,
            tpot_s=completion.tpot_s,
            evidence=evidence,
        )

    def _request(
        self, target: Target, step: Step | None, document: Document, max_tokens: int
    ) -> tuple[Completion, Evidence]:
        """An answer, and all that is said of it; without a step it is a flood's."""
        self._on_request(f"{target.arm} {step or 'flood'}")
        target.check()
        request_id = next(self._ids)
        completion = target.client.complete(document.token_ids, max_tokens, request_id)
        counters, target.totals = await_deltas(target.client, target.totals)
        log = target.log.request(request_id, step) if target.log and step else None
        server: tuple[ServerLog | None, ServerCounters | None] = (None, None)
        if target.cache_server:
            server = target.cache_server.witness(request_id, step, completion.prompt_tokens)
        if step in (None, Step.COLD):
            target.chunks_stored += len(document.token_ids) // self._experiment.knobs.chunk_tokens
        return completion, Evidence(log, *server, counters, completion.token_ids)


def _alternating(steps: tuple[Step, ...], repeat: int) -> tuple[Step, ...]:
    """What lies in RAM can be asked only before that is emptied; the rest takes turns."""
    in_ram = tuple(step for step in steps if step.tier is Tier.CPU)
    below = steps[len(in_ram) :]
    return in_ram + (below if repeat % 2 else below[::-1])


def _settle(target: Target, step: Step) -> None:
    """Wait for what LMCache writes behind the answers, and leave the document's KV only in the tier of ``step``."""
    files = target.chunk_files
    if target.cache_server:
        target.cache_server.await_idle(target.check)
        if step.tier is Tier.SSD:
            target.cache_server.clear_ram()
    elif files:
        files.await_written(target.chunks_stored, target.check)
    if files and step.page_cache:
        files.enter_page_cache()
    elif files:
        files.leave_page_cache()


def contradicted(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Every sample whose evidence contradicts its name, and why."""
    return tuple(
        f"{sample.document}, repeat {sample.repeat}, {sample.arm} {sample.step}: {why}"
        for sample in samples
        for why in contradictions(sample.step, sample.prompt_tokens, sample.evidence)
    )
