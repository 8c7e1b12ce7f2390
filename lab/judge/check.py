"""Does a running server's tier work? A few bounded requests, its counters, its log where we may read it."""

from collections.abc import Iterator, Sequence

from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_file
from lab.judge.asker import Asker, Check, asking
from lab.judge.points import Asked, Point, State, answered_by, answers, own_cache, server_point, tier

ROUNDS = 3
MAX_TOKENS = 8


def run_check(wanted: Check) -> list[Point]:
    """Ask, count, judge.

    Raises:
        LabError: when the server cannot be asked at all, or a limit is reached midway.
    """
    with asking(wanted, MAX_TOKENS) as asker:
        return list(_Checker(asker, wanted).points())


class _Checker:
    def __init__(self, asker: Asker, wanted: Check) -> None:
        self._asker = asker
        self._wanted = wanted

    def points(self) -> Iterator[Point]:
        """All checkpoints."""
        self._asker.warm_up()
        documents = [self._asker.document() for _ in range(ROUNDS)]
        cold, again = Asked(), Asked()
        for document in documents:
            self._asker.ask(document, cold)
            self._asker.ask(document, again)
        yield self._connector(cold)
        if self._asker.server:
            yield server_point(self._asker.server.status())
        yield own_cache(cold, again)
        late = Asked()
        yield self._tier(documents, cold, late)
        yield self._changed(documents[0], cold)
        yield answers(cold, (again, late), self._asker.gap_nats)
        if any(step.disturbed for step in (cold, again, late)):
            yield Point("traffic", State.UNCLEAR, "others use this server: its counters hold their tokens too")
        yield from self._log()

    def _connector(self, cold: Asked) -> Point:
        asked = cold.moved("external_queries")
        if asked is None:
            return Point("connector", State.UNCLEAR, "the server shows no vLLM counters")
        if asked == 0:
            return Point(
                "connector",
                State.FAILED,
                "no KV connector is asked: vLLM's external prefix-cache counters stand still. "
                "Start it with --kv-transfer-config (python -m kvtiers plan writes it)",
            )
        return Point("connector", State.OK, f"a KV connector was asked for {asked:,} tokens")

    def _tier(self, documents: Sequence[str], cold: Asked, late: Asked) -> Point:
        prompt_tokens = cold.answers[0].prompt_tokens
        skipped = self._asker.cannot_push_out(prompt_tokens, ROUNDS + 2)
        if skipped:
            return Point("tier", State.SKIPPED, skipped)
        self._asker.push_out(prompt_tokens)
        before = self._asker.all_totals()
        for document in documents:
            self._asker.ask(document, late)
        return tier(cold, late, answered_by(before, self._asker.all_totals()))

    def _changed(self, document: str, cold: Asked) -> Point:
        """The first word changed: nothing of it may come back."""
        first, rest = document.split(" ", maxsplit=1)
        changed = Asked()
        self._asker.ask(f"{first[::-1]}q {rest}", changed)
        hits = (changed.moved("own_hits") or 0) + (changed.moved("external_hits") or 0)
        hits = max(hits, changed.answers[0].cached_tokens or 0)
        if not any(changed.counters) and changed.answers[0].cached_tokens is None:
            return Point("changed token", State.UNCLEAR, "the server shows neither counters nor cached tokens")
        if 2 * hits > changed.answers[0].prompt_tokens:
            return Point("changed token", State.FAILED, f"{hits:,} tokens came back for a prompt never sent before")
        return Point("changed token", State.OK, f"one changed word at the front: {hits:,} tokens came back")

    def _log(self) -> Iterator[Point]:
        if self._wanted.log is None:
            return
        try:
            diagnosis = conclude(*read_log_file(self._wanted.log))
        except KvtiersError as error:
            yield Point("log", State.UNCLEAR, str(error))
            return
        for problem in diagnosis.problems:
            yield Point("log", State.FAILED, f"{problem.what()} {problem.next_step()} [{problem.id}]")
        if not diagnosis.problems:
            yield Point("log", State.OK, f"{diagnosis.conclusion.what()} [{diagnosis.conclusion.id}]")
