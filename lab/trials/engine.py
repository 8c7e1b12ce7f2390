"""One engine of a trial, with a life after another."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lab.engines.launch import Launch
from lab.engines.process import Process
from lab.engines.shared_memory import require_shared
from lab.judge.engine_log import EngineLog
from lab.knobs import FLOODS
from lab.launches import running
from lab.measure.cache_server import L1_HITS, L2_HITS
from lab.measure.client import READ_TIMEOUT_S, Client, Completion
from lab.measure.counters import await_deltas, read_totals
from lab.measure.server import RequestError
from lab.paths import LOGS
from lab.waiting import tries

if TYPE_CHECKING:
    from lab.trials.stage import Stage

Prompt = tuple[int, ...]
Change = Callable[[Launch], Launch]
_POLL_S = 0.1
_DYING_S = 20.0  # from the error that a client gets to the end of its engine's process


def option(name: str, value: str) -> Change:
    """Another word behind an option."""

    def change(launch: Launch) -> Launch:
        at = launch.command.index(name) + 1
        return replace(launch, command=(*launch.command[:at], value, *launch.command[at + 1 :]))

    return change


def variable(name: str, value: str) -> Change:
    """Another value in the environment."""
    return lambda launch: replace(launch, environment=launch.environment | {name: value})


@dataclass(frozen=True)
class Answer:
    """A completion, None where an error came instead; seconds to its first token, or to the error; and the tokens that
    came from LMCache: loaded by the engine, found in RAM, found below."""

    completion: Completion | None
    first_token_s: float
    loaded_tokens: int = 0
    l1_tokens: int = 0
    l2_tokens: int = 0


class Engine:
    """One engine beside the server, with a life after another."""

    def __init__(self, stage: "Stage", launch: Launch, name: str) -> None:
        self._stage = stage
        self._launch = launch
        self._logs = LOGS / "trials" / name
        self._life = contextlib.ExitStack()
        self.process: Process | None = None

    def launch(self, *changes: Change) -> Launch:
        """As planned but for these."""
        launch = self._launch
        for change in changes:
            launch = change(launch)
        return launch

    def start(self, *changes: Change, ask_first: bool = True) -> None:
        """Start it; ``ask_first``: and pay for its first request, which imports and allocates."""
        launch, timeout_s = self.launch(*changes), self._stage.wanted.start_timeout_s
        (self.process,) = self._life.enter_context(running([launch], self._logs, timeout_s))
        self.client = Client(self.process.url, self._stage.wanted.preset.name)
        self._life.callback(self.client.close)
        if self._stage.server_is_up:
            require_shared(self._stage.server.log_path)
        if ask_first:
            self.ask(self._stage.new_document("warm-up"))

    def stop(self) -> None:
        """Stop it; ``start`` may follow."""
        self._life.close()
        self.process = None

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.stop()

    def restart(self, *changes: Change) -> None:
        """Stop and start."""
        self.stop()
        self.start(*changes)

    def ask(self, prompt: Prompt) -> Answer:
        """Ask, and count which tier gave what.

        Raises:
            LabError: from the engine.
        """
        return self._ask(prompt, self.client)

    def _ask(self, prompt: Prompt, client: Client) -> Answer:
        assert self.process is not None
        self.process.check()
        engine_totals, cache_totals = read_totals(self.client), self._stage.cache_totals()
        request_id, log = f"kvtiers-trial-{self._stage.next_number()}", EngineLog(self.process.log_path)
        completion = client.complete(prompt, self._stage.wanted.knobs.max_tokens, request_id, logprobs=True)
        self._stage.note(prompt)
        moved, _ = await_deltas(self.client, engine_totals)
        if moved.external_hits == 0:
            return Answer(completion, completion.ttft_s)
        self._stage.await_lookup(cache_totals)
        now = self._stage.cache_totals()
        l1, l2 = (int(now.get(name, 0.0) - cache_totals.get(name, 0.0)) for name in (L1_HITS, L2_HITS))
        loaded = self._stage.loaded_tokens(moved.external_hits, log, request_id)
        return Answer(completion, completion.ttft_s, loaded, l1, l2)

    def attempt(self, prompt: Prompt, patience_s: float = READ_TIMEOUT_S) -> Answer:
        """Ask while something may be broken: an error is an answer too, and so is none within ``patience_s``."""
        assert self.process is not None
        model, started = self._stage.wanted.preset.name, time.monotonic()
        try:
            with contextlib.closing(Client(self.process.url, model, read_timeout_s=patience_s)) as client:
                return self._ask(prompt, client)
        except RequestError:
            return Answer(None, time.monotonic() - started)

    def lives(self, *, after_error: bool = False) -> bool:
        """Does it still answer? ``after_error``: it may be about to end."""
        assert self.process is not None
        for is_last in tries(_DYING_S if after_error else 0.0, _POLL_S):
            if is_last or not self.process.alive():
                break
        try:
            self.client.answer("GET", "/health")
        except RequestError:
            return False
        return self.process.alive()

    def push_out(self) -> None:
        """Ask for other documents until none of the last one is left in the engine's own pool."""
        for _ in range(FLOODS):
            tokens = self._stage.pool.flood_tokens(self._stage.wanted.knobs.document_tokens)
            self.ask(self._stage.new_document("flood", tokens))
