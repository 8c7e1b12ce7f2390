"""LMCache's server and engines beside it, each of which can be stopped, killed and started anew while a run goes on."""

import contextlib
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kvtiers.result.steps import Arm
from kvtiers.settings.mp import Drive, MPMode, Redis, compact, connector, vllm_arguments
from lab.engines.install import engine_versions
from lab.engines.launch import Connection, engine_launch, mp_mode, server_launch
from lab.engines.models import preset_config
from lab.errors import LabError
from lab.judge.engine_log import EngineLog
from lab.launches import LocalRun, Staged, pool_of, running, share_of_card
from lab.measure.cache_server import LOOKUPS, CacheServer
from lab.measure.chunks import chunk_files
from lab.measure.documents import TokenSource, ordinary_ids
from lab.paths import LOGS
from lab.trials.engine import Change, Engine, Prompt, option
from lab.waiting import tries

_WAIT_S, _POLL_S = 120.0, 0.1
ENGINES = 2
PORTS = ENGINES + 3  # the server's two, and one for Redis


class Stage:
    """The server, and two engines that may be started beside it."""

    def __init__(self, wanted: LocalRun, place: Staged) -> None:
        self.wanted = wanted
        self.pool = pool_of(wanted)
        self.directory = place.storage.directory
        self.scratch = place.directories.sockets
        self.redis_port = place.ports[-1]
        connection, share = self._connection(place), share_of_card(wanted, self.pool)
        self.first, self.second = (
            Engine(
                self,
                engine_launch(
                    Arm.LMCACHE,
                    wanted.preset,
                    self.pool,
                    connection,
                    port=port,
                    runtime=place.directories.sockets,
                    share=share,
                ),
                name,
            )
            for port, name in zip(place.ports[2:], ("first", "second"), strict=False)
        )
        self.server_is_up = self.server_is_changed = False
        self._life = contextlib.ExitStack()
        self._source = TokenSource(ordinary_ids(int(preset_config(wanted.preset)["vocab_size"])), wanted.knobs.seed)
        self._numbers = itertools.count()

    def _connection(self, place: Staged) -> Connection:
        """How its engines reach LMCache."""
        preset, chunk_tokens = self.wanted.preset, self.wanted.knobs.chunk_tokens
        mode = mp_mode(preset, place.storage, chunk_tokens, port=place.ports[0], http_port=place.ports[1])
        self.mode = replace(mode, max_workers=ENGINES)
        return Connection(tuple(vllm_arguments(self.mode)))

    def start_server(self, l2: Drive | Redis | None = None, *changes: Change) -> None:
        """Start LMCache's server, or start it anew; ``l2``: in place of this run's directory.

        Raises:
            LabError: when it does not come up.
        """
        self.stop_server()
        self.server_is_changed = bool(l2 or changes)
        mode = self.mode if l2 is None else replace(self.mode, l2=l2)
        launch = server_launch(mode, self.wanted.preset.engine, self.wanted.card)
        for change in changes:
            launch = change(launch)
        (self.server,) = self._life.enter_context(running([launch], LOGS / "trials", self.wanted.start_timeout_s))
        self.cache = CacheServer(self.server.url, None, engine_versions(self.wanted.preset.engine).lmcache)
        self._life.callback(self.cache.close)
        self.server_is_up = True

    def stop_server(self) -> None:
        """Politely."""
        self.server_is_up = False
        self._life.close()

    def kill_server(self) -> None:
        """As a crash would; ``start_server`` may follow."""
        self.server.kill()
        self.stop_server()

    def stop(self) -> None:
        """All of them."""
        self.second.stop()
        self.first.stop()
        self.stop_server()

    def stand(self, *changes: Change) -> None:
        """The first engine, so changed, beside a server with this run's own directory, as every scenario begins."""
        process = self.first.process
        keeps_engine = process is not None and process.launch == self.first.launch(*changes) and self.first.lives()
        keeps_server = self.server_is_up and not self.server_is_changed
        if not keeps_engine:
            self.first.stop()
        if not keeps_server:
            self.replace_server() if keeps_engine else self.start_server()
        if not keeps_engine:
            self.first.start(*changes)

    def with_times(self, mq_timeout_s: float, heartbeat_s: float) -> Change:
        """An engine with other times."""
        mode: MPMode = replace(self.mode, mq_timeout_s=mq_timeout_s, heartbeat_s=heartbeat_s)
        return option("--kv-transfer-config", compact(connector(mode)))

    def in_chunks(self, prompt: Prompt) -> int:
        """Tokens of a prompt that lie in whole chunks."""
        return len(prompt) - len(prompt) % self.wanted.knobs.chunk_tokens

    def after_restart(self, prompt: Prompt) -> int:
        """Tokens of a prompt that a new engine finds."""
        return self.in_chunks(prompt)

    def note(self, prompt: Prompt) -> None:
        """It was asked for. The server says by itself what is still on its way to the drive."""

    def loaded_tokens(self, counted: int, log: EngineLog, request_id: str) -> int:
        """Of those that an engine counted as LMCache's: beside a server it counts what that has fetched."""
        return counted

    def document(self, name: str, tokens: int) -> Prompt:
        """Token ids that no other name has."""
        return self._source.document(name, tokens).token_ids

    def new_document(self, name: str, tokens: int | None = None) -> Prompt:
        """One that was never asked for; of the usual length where none is told."""
        return self.document(f"{name} {self.next_number()}", tokens or self.wanted.knobs.document_tokens)

    def next_number(self) -> int:
        """One after the other."""
        return next(self._numbers)

    def cache_totals(self) -> Mapping[str, float]:
        """The server's counters; none while it is gone, or of a version that does not tell its tiers apart."""
        return self.cache.totals() if self.server_is_up and self.cache.counts_tiers else {}

    def settle(self) -> None:
        """Wait until all that was stored lies on the drive too."""
        self.cache.await_idle(self.server.check)

    def only_files_are_left(self) -> None:
        """What is asked next can come from nowhere else."""
        self.first.push_out()
        self.settle()
        self.cache.clear_ram()

    def forget(self) -> None:
        """Nothing is kept anywhere then."""
        self.only_files_are_left()
        for file in self.files():
            file.unlink()

    def await_lookup(self, before: Mapping[str, float]) -> None:
        """Until the server has counted another one.

        Raises:
            LabError: it never does.
        """
        if self.server_is_up and not self.cache.counts_tiers:
            return
        self.wait(
            lambda: not self.server_is_up or self.cache_totals().get(LOOKUPS, 0.0) > before.get(LOOKUPS, 0.0),
            "LMCache's server never counted the lookup of what the engine loaded",
        )

    def replace_server(self, l2: Drive | Redis | None = None, *changes: Change) -> None:
        """Start it anew for an engine that goes on, and wait until that uses it. An engine registers anew only if it
        noticed that the server was away."""
        self.stop_server()
        self.await_degraded()
        self.start_server(l2, *changes)
        self.await_recovery()

    def await_degraded(self) -> None:
        """Until an idle engine has noticed that the server is gone."""
        time.sleep(self.mode.noticed_s)

    def await_recovery(self) -> None:
        """An engine that lost its server uses the new one some heartbeats later, by itself; until then it computes.

        Raises:
            LabError: it never does.
        """

        def used() -> bool:
            self.first.ask(self.new_document("probe", self.wanted.knobs.chunk_tokens))
            return self.cache.totals().get(LOOKUPS, 0.0) > 0 and self.cache.serves_engines()

        self.wait(used, "the engine did not come back to LMCache's server")

    def files(self) -> set[Path]:
        """LMCache's chunk files."""
        return set(chunk_files(self.directory))

    def wait(self, condition: Callable[[], bool], complaint: str, limit_s: float = _WAIT_S) -> None:
        """Block until it holds.

        Raises:
            LabError: with the complaint, when it never does.
        """
        for is_last in tries(limit_s, _POLL_S):
            if condition():
                return
            if self.server_is_up:
                self.server.check()
            if is_last:
                raise LabError(complaint)
