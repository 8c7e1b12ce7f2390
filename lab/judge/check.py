"""Does a running server's tier work? A few bounded requests, its counters, its log where we may read it."""

from collections.abc import Iterator, Sequence

from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_file
from lab.judge.asker import Asker, Check, asking
from lab.judge.points import Asked, Point, answers, own_cache, point, server_point, tier

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
        cold, again, late = Asked(), Asked(), Asked()
        for document in documents:
            self._asker.ask(document, cold)
            self._asker.ask(document, again)
        yield self._connector(cold)
        if self._asker.server:
            yield server_point(self._asker.server.status())
        yield own_cache(cold, again)
        yield self._tier(documents, cold, late)
        yield self._changed(documents[0])
        yield answers(cold, (again, late), self._asker.gap_nats)
        if any(step.disturbed for step in (cold, again, late)):
            yield point("traffic", "others")
        yield from self._log()

    def _connector(self, cold: Asked) -> Point:
        asked = cold.moved("external_queries")
        return point("connector", "unshown" if asked is None else "asked" if asked else "unasked", asked=asked)

    def _tier(self, documents: Sequence[str], cold: Asked, late: Asked) -> Point:
        """Push the documents out, and ask for them again."""
        prompt_tokens = cold.answers[0].prompt_tokens
        if skipped := self._asker.cannot_push_out(prompt_tokens, ROUNDS + 2):
            return skipped
        self._asker.push_out(prompt_tokens)
        before = self._asker.all_totals()
        for document in documents:
            self._asker.ask(document, late)
        return tier(cold, late, self._asker.answered_by(before))

    def _changed(self, document: str) -> Point:
        """The first word changed: nothing of it may come back."""
        first, rest = document.split(" ", maxsplit=1)
        changed = Asked()
        self._asker.ask(f"{first[::-1]}q {rest}", changed)
        (answer,), (counters,) = changed.answers, changed.counters
        if counters is None and answer.cached_tokens is None:
            return point("changed token", "unshown")
        hits = max(counters.own_hits + counters.external_hits if counters else 0, answer.cached_tokens or 0)
        return point("changed token", "stale" if 2 * hits > answer.prompt_tokens else "fresh", hits=hits)

    def _log(self) -> Iterator[Point]:
        if self._wanted.log is None:
            return
        try:
            diagnosis = conclude(read_log_file(self._wanted.log))
        except KvtiersError as error:
            yield point("log", "unread", why=error)
            return
        for problem in diagnosis.problems:
            yield point("log", "problem", what=problem.what(), next=problem.next_step(), id=problem.id)
        if not diagnosis.problems:
            yield point("log", "fine", what=diagnosis.conclusion.what(), id=diagnosis.conclusion.id)
