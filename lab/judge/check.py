"""Does a running server's tier work? A few bounded requests, its counters, its log where we may read it."""

import contextlib
import itertools
import random
import secrets
import string
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log_file
from lab.errors import LabError
from lab.judge.points import Asked, Point, answered_by, answers, own_cache, point, server_point, tier
from lab.measure.cache_server import CacheServer
from lab.measure.client import Client, Completion, served_model
from lab.measure.counters import await_deltas, pool_size, read_totals
from lab.measure.server import RequestError

ROUNDS = 3
MAX_TOKENS = 8
DEFAULT_DOCUMENT_TOKENS = 1300
DEFAULT_CEILING_TOKENS = 60_000
_CALIBRATION_WORDS = 60
_CHAT_ONLY = (400, 404, 405, 501)


@dataclass(frozen=True)
class Check:
    """What to check. ``ceiling_tokens``: prompt tokens that may be sent in all; ``evict``: may others be pushed out?
    ``server``: the HTTP address of LMCache's server, in MP mode."""

    url: str
    log: Path | None = None
    api_key: str | None = None
    document_tokens: int = DEFAULT_DOCUMENT_TOKENS
    ceiling_tokens: int = DEFAULT_CEILING_TOKENS
    evict: bool = True
    server: str | None = None


def run_check(wanted: Check) -> list[Point]:
    """Ask, count, judge.

    Raises:
        LabError: when the server cannot be asked at all, or a limit is reached midway.
    """
    with ExitStack() as stack:
        client = Client(wanted.url, served_model(wanted.url, wanted.api_key), wanted.api_key)
        stack.callback(client.close)
        server = CacheServer(wanted.server, None) if wanted.server else None
        if server:
            stack.callback(server.close)
        return list(_Checker(client, server, wanted).points())


class _Checker:
    def __init__(self, client: Client, server: CacheServer | None, wanted: Check) -> None:
        self._client = client
        self._server = server
        self._wanted = wanted
        self._random = random.Random(secrets.randbits(64))  # a second check must be cold again
        self._left = wanted.ceiling_tokens
        self._chat = False
        self._tokens_per_word = 1.0
        self._numbers = itertools.count(1)
        self._totals: dict[str, float] | None = None

    def points(self) -> Iterator[Point]:
        self._warm_up()
        documents = [self._document() for _ in range(ROUNDS)]
        cold, again, late = Asked(), Asked(), Asked()
        for document in documents:
            self._ask(document, cold)
            self._ask(document, again)
        yield self._connector(cold)
        if self._server:
            yield server_point(self._server.status())
        yield own_cache(cold, again)
        yield self._tier(documents, cold, late)
        yield self._changed(documents[0])
        yield answers(cold, (again, late), self._gap_nats)
        if any(step.disturbed for step in (cold, again, late)):
            yield point("traffic", "others")
        yield from self._log()

    def _warm_up(self) -> None:
        """Learns the endpoint and how many tokens a word has; pays for the server's first request."""
        text = self._words(_CALIBRATION_WORDS)
        try:
            answer = self._answer(text)
        except RequestError as error:
            if error.status not in _CHAT_ONLY:
                raise
            self._chat = True
            answer = self._answer(text)
        self._tokens_per_word = max(answer.prompt_tokens, _CALIBRATION_WORDS) / _CALIBRATION_WORDS
        with contextlib.suppress(LabError):  # behind a gateway: times and usage must do
            self._totals = read_totals(self._client)

    def _ask(self, text: str, into: Asked) -> None:
        if self._left <= 0:
            ceiling = self._wanted.ceiling_tokens
            raise LabError(f"the ceiling of {ceiling:,} prompt tokens is reached; raise --ceiling-tokens")
        into.answers.append(self._answer(text))
        counters = None
        if self._totals is not None:
            counters, self._totals = await_deltas(self._client, self._totals)
        into.counters.append(counters)

    def _answer(self, text: str) -> Completion:
        answer = self._client.ask(text, MAX_TOKENS, f"kvtiers-check-{next(self._numbers)}", chat=self._chat)
        self._left -= answer.prompt_tokens
        return answer

    def _gap_nats(self, prompt: Sequence[int], first: int, second: int) -> float | None:
        self._left -= len(prompt)
        if self._left < 0:
            raise RequestError("the ceiling of prompt tokens is reached")
        return self._client.gap_nats(prompt, first, second)

    def _document(self) -> str:
        return self._words(max(8, int(self._wanted.document_tokens / self._tokens_per_word)))

    def _words(self, count: int) -> str:
        letters = string.ascii_lowercase
        return " ".join("".join(self._random.choices(letters, k=self._random.randint(2, 7))) for _ in range(count))

    def _connector(self, cold: Asked) -> Point:
        asked = cold.moved("external_queries")
        return point("connector", "unshown" if asked is None else "asked" if asked else "unasked", asked=asked)

    def _tier(self, documents: Sequence[str], cold: Asked, late: Asked) -> Point:
        """Push the documents out, and ask for them again."""
        if not self._wanted.evict:
            return point("tier", "unwanted")
        if self._totals is None:
            return point("tier", "unshown")
        (pool_tokens, _), prompt_tokens = pool_size(self._client), cold.answers[0].prompt_tokens
        needed = pool_tokens + (ROUNDS + 2) * prompt_tokens
        if needed > self._left:
            return point("tier", "too_large", pool=pool_tokens, needed=needed, left=self._left)
        for _ in range(-(-pool_tokens // prompt_tokens) + 1):
            self._ask(self._document(), Asked())
        before = self._all_totals()
        for document in documents:
            self._ask(document, late)
        return tier(cold, late, answered_by(before, self._all_totals(), with_server=self._server is not None))

    def _all_totals(self) -> dict[str, float]:
        return read_totals(self._client) | (self._server.totals() if self._server else {})

    def _changed(self, document: str) -> Point:
        """The first word changed: nothing of it may come back."""
        first, rest = document.split(" ", maxsplit=1)
        changed = Asked()
        self._ask(f"{first[::-1]}q {rest}", changed)
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
