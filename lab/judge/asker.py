"""Bounded requests to a server whose tokenizer we do not have: random words, which nobody has asked for before."""

import contextlib
import itertools
import random
import secrets
import string
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kvtiers.result.evidence import Counters
from lab.errors import LabError
from lab.judge.points import Asked, Point, answered_by, point
from lab.measure.cache_server import CacheServer
from lab.measure.client import Client, Completion, served_model
from lab.measure.counters import await_deltas, pool_size, read_totals
from lab.measure.server import RequestError

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


class Asker:
    """Asks one server, counts what it shows, stops at the ceiling. Answers are of ``max_tokens`` at most, with their
    ``logprobs`` where wanted."""

    def __init__(
        self, client: Client, server: CacheServer | None, wanted: Check, max_tokens: int, *, logprobs: bool
    ) -> None:
        self.client = client
        self.server = server
        self._wanted = wanted
        self._left = wanted.ceiling_tokens
        self._max_tokens = max_tokens
        self._logprobs = logprobs
        self._random = random.Random(secrets.randbits(64))  # a second check must be cold again
        self._chat = False
        self._tokens_per_word = 1.0
        self._numbers = itertools.count(1)
        self._totals: dict[str, float] | None = None

    def warm_up(self) -> None:
        """Learns the endpoint and how many tokens a word has; pays for the server's first request."""
        text = self.words(_CALIBRATION_WORDS)
        try:
            answer = self._answer(text)
        except RequestError as error:
            if error.status not in _CHAT_ONLY:
                raise
            self._chat = True
            answer = self._answer(text)
        self._left -= answer.prompt_tokens
        self._tokens_per_word = max(answer.prompt_tokens, _CALIBRATION_WORDS) / _CALIBRATION_WORDS
        with contextlib.suppress(LabError):  # behind a gateway: times and usage must do
            self._totals = read_totals(self.client)

    def ask(self, text: str, into: Asked) -> None:
        """Ask, and count.

        Raises:
            LabError: the ceiling is reached, or the server can't be asked.
        """
        self._require_room()
        answer = self._answer(text)
        into.answers.append(answer)
        into.counters.append(self._counted([answer]))

    def ask_at_once(self, texts: Sequence[str]) -> tuple[list[Completion], Counters | None]:
        """Ask as so many clients, side by side; counted together, None where there are no counters.

        Raises:
            LabError: as ``ask``.
        """
        self._require_room()
        with ThreadPoolExecutor(len(texts)) as clients:
            answers = list(clients.map(self._answer, texts))
        return answers, self._counted(answers)

    def gap_nats(self, prompt: Sequence[int], first: int, second: int) -> float | None:
        """As Client.gap_nats, below the ceiling."""
        self._left -= len(prompt)
        if self._left < 0:
            raise RequestError("the ceiling of prompt tokens is reached")
        return self.client.gap_nats(prompt, first, second)

    def document(self, share: float = 1.0) -> str:
        """A prompt that was never sent before; ``share`` of the usual length."""
        return self.words(max(8, int(share * self._wanted.document_tokens / self._tokens_per_word)))

    def words(self, count: int) -> str:
        """Random ones."""
        letters = string.ascii_lowercase
        return " ".join("".join(self._random.choices(letters, k=self._random.randint(2, 7))) for _ in range(count))

    def all_totals(self) -> dict[str, float]:
        """Every counter of engine and LMCache's server."""
        return read_totals(self.client) | (self.server.totals() if self.server else {})

    def answered_by(self, before: dict[str, float]) -> str:
        """Which tier it was since ``before``, of all totals."""
        return answered_by(before, self.all_totals(), with_server=self.server is not None)

    def cannot_push_out(self, prompt_tokens: int, prompts: int) -> Point | None:
        """Why that many prompts can't be pushed out and asked again; None where they can."""
        if not self._wanted.evict:
            return point("tier", "unwanted")
        if self._totals is None:
            return point("tier", "unshown")
        pool_tokens, _ = pool_size(self.client)
        needed = pool_tokens + prompts * prompt_tokens
        if needed > self._left:
            return point("tier", "too_large", pool=pool_tokens, needed=needed, left=self._left)
        return None

    def push_out(self, prompt_tokens: int) -> None:
        """Ask for others until none of what was asked is left in the engine's own pool."""
        pool_tokens, _ = pool_size(self.client)
        for _ in range(-(-pool_tokens // prompt_tokens) + 1):
            self.ask(self.document(), Asked())

    def _require_room(self) -> None:
        if self._left <= 0:
            ceiling = self._wanted.ceiling_tokens
            raise LabError(f"the ceiling of {ceiling:,} prompt tokens is reached; raise --ceiling-tokens")

    def _counted(self, answers: Sequence[Completion]) -> Counters | None:
        """What the counters moved by since the last ones; these are off the ceiling."""
        self._left -= sum(answer.prompt_tokens for answer in answers)
        if self._totals is None:
            return None
        counters, self._totals = await_deltas(self.client, self._totals, len(answers))
        return counters

    def _answer(self, text: str) -> Completion:
        request_id = f"kvtiers-check-{next(self._numbers)}"
        return self.client.ask(text, self._max_tokens, request_id, chat=self._chat, logprobs=self._logprobs)


@contextlib.contextmanager
def asking(wanted: Check, max_tokens: int, *, logprobs: bool = False) -> Iterator[Asker]:
    """Connected for as long as it is used.

    Raises:
        LabError: when the server cannot be asked at all.
    """
    with contextlib.ExitStack() as stack:
        client = Client(wanted.url, served_model(wanted.url, wanted.api_key), wanted.api_key)
        stack.callback(client.close)
        server = CacheServer(wanted.server, None) if wanted.server else None
        if server:
            stack.callback(server.close)
        yield Asker(client, server, wanted, max_tokens, logprobs=logprobs)
