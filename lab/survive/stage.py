"""LMCache's server and engines beside it, each of which can be stopped and started anew while a run goes on."""

import contextlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kvtiers.result.steps import Arm
from kvtiers.settings.mp import Transfer, vllm_arguments
from lab.engines.launch import Connection, Launch, engine_launch, mp_mode, server_launch, transfer
from lab.engines.models import preset_config
from lab.engines.ports import reserved_ports
from lab.engines.shared_memory import require_shared, shared_memory
from lab.errors import LabError
from lab.knobs import FLOODS
from lab.launches import Directories, LocalRun, bytes_stored, pool_of, running, share_of_card, storage_for
from lab.measure.cache_server import L1_HITS, L2_HITS, LOOKUPS, CacheServer
from lab.measure.chunks import check_cache_root, supports_direct_io
from lab.measure.client import Client, Completion
from lab.measure.counters import await_deltas, read_totals
from lab.measure.documents import TokenSource, ordinary_ids
from lab.paths import LOGS
from lab.run_directory import alone, run_directory

_WAIT_S, _POLL_S = 120.0, 0.1
_ENGINES = 2


@dataclass(frozen=True)
class Answer:
    """A completion, and the tokens that came from LMCache: loaded by the engine, found in RAM, found below."""

    completion: Completion
    loaded_tokens: int
    l1_tokens: int
    l2_tokens: int


class Engine:
    """One engine beside the server, with a life after another."""

    def __init__(self, stage: "Stage", launch: Launch, name: str) -> None:
        self._stage = stage
        self._launch = launch
        self._logs = LOGS / "survive" / name
        self._life = contextlib.ExitStack()

    def start(self) -> None:
        """Start it and pay for its first request, which imports and allocates."""
        (self.process,) = self._life.enter_context(running([self._launch], self._logs, self._stage.start_timeout_s))
        self._client = Client(self.process.url, self._stage.wanted.preset.name)
        self._life.callback(self._client.close)
        require_shared(self._stage.server.log_path)
        self.ask(self._stage.document(f"warm-up {self._stage.next_number()}", self._stage.wanted.knobs.document_tokens))

    def stop(self) -> None:
        """Stop it; ``start`` may follow."""
        self._life.close()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def ask(self, prompt: tuple[int, ...]) -> Answer:
        """Ask, and count which tier gave what."""
        self.process.check()
        cache = self._stage.cache
        engine_totals, cache_totals = read_totals(self._client), cache.totals()
        request_id = f"kvtiers-survive-{self._stage.next_number()}"
        completion = self._client.complete(prompt, self._stage.wanted.knobs.max_tokens, request_id)
        moved, _ = await_deltas(self._client, engine_totals)

        if moved.external_hits == 0:
            return Answer(completion, 0, 0, 0)

        def counted() -> bool:
            return cache.totals().get(LOOKUPS, 0.0) > cache_totals.get(LOOKUPS, 0.0)

        self._stage.wait(counted, "LMCache's server never counted the lookup of what the engine loaded")
        now = cache.totals()
        l1, l2 = (int(now.get(name, 0.0) - cache_totals.get(name, 0.0)) for name in (L1_HITS, L2_HITS))
        return Answer(completion, moved.external_hits, l1, l2)

    def push_out(self) -> None:
        """Ask for other documents until none of the last one is left in the engine's own pool."""
        for _ in range(FLOODS):
            tokens = self._stage.pool.flood_tokens(self._stage.wanted.knobs.document_tokens)
            self.ask(self._stage.document(f"flood {self._stage.next_number()}", tokens))


class Stage:
    """The server, and two engines that may be started beside it."""

    def __init__(self, wanted: LocalRun, directories: Directories, ports: Sequence[int], direct_io: bool) -> None:
        preset, knobs = wanted.preset, wanted.knobs
        self.wanted = wanted
        self.pool = pool_of(wanted)
        self.chunks = directories.chunks
        self.start_timeout_s = wanted.start_timeout_s
        storage = storage_for(wanted, self.pool, directories.chunks, direct_io=direct_io)
        self.l1_gib = storage.l1_gib
        mode = mp_mode(preset, storage, knobs.chunk_tokens, port=ports[0], http_port=ports[1])
        mode = replace(mode, max_workers=_ENGINES)
        self._server = server_launch(mode, preset.engine, wanted.card)
        connection = Connection(tuple(vllm_arguments(mode)))
        self.first, self.second = (
            Engine(self, self._engine(connection, port, directories.sockets), name)
            for port, name in zip(ports[2:], ("first", "second"), strict=True)
        )
        self._life = contextlib.ExitStack()
        self._source = TokenSource(ordinary_ids(int(preset_config(preset)["vocab_size"])), knobs.seed)
        self._numbers = itertools.count()

    def _engine(self, connection: Connection, port: int, sockets: Path) -> Launch:
        share = share_of_card(self.wanted, self.pool)
        preset = self.wanted.preset
        return engine_launch(Arm.LMCACHE, preset, self.pool, connection, port=port, runtime=sockets, share=share)

    def start_server(self) -> None:
        """Start LMCache's server, or start it anew."""
        self._life.close()
        (self.server,) = self._life.enter_context(running([self._server], LOGS / "survive", self.start_timeout_s))
        self.cache = CacheServer(self.server.url, None)
        self._life.callback(self.cache.close)

    def stop(self) -> None:
        """All of them."""
        self.second.stop()
        self.first.stop()
        self._life.close()

    def document(self, name: str, tokens: int) -> tuple[int, ...]:
        """Token ids that no other name has."""
        return self._source.document(name, tokens).token_ids

    def next_number(self) -> int:
        """One after the other."""
        return next(self._numbers)

    def settle(self) -> None:
        """Wait until all that was stored lies on the drive too."""
        self.cache.await_idle(self.server.check)

    def await_recovery(self) -> None:
        """An engine that lost its server uses the new one some heartbeats later, by itself; until then it computes."""

        def looked_up() -> bool:
            self.first.ask(self.document(f"probe {self.next_number()}", self.wanted.knobs.chunk_tokens))
            return self.cache.totals().get(LOOKUPS, 0.0) > 0

        self.wait(looked_up, "the engine did not come back to LMCache's server")

    def files(self) -> set[Path]:
        """Chunk files of LMCache's server."""
        return set(self.chunks.rglob("*.data"))

    def wait(self, condition: Callable[[], bool], complaint: str) -> None:
        """Block until it holds.

        Raises:
            LabError: with the complaint, when it never does.
        """
        deadline = time.monotonic() + _WAIT_S
        while not condition():
            self.server.check()
            if time.monotonic() > deadline:
                raise LabError(complaint)
            time.sleep(_POLL_S)


@contextlib.contextmanager
def staged(wanted: LocalRun) -> Iterator[Stage]:
    """A stage on a directory of its own, its server up; all of it is gone afterwards.

    Raises:
        LabError: when it can't even begin.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone())
        check_cache_root(wanted.cache_root, bytes_stored(wanted, pool_of(wanted)))
        chunks = stack.enter_context(run_directory(wanted.cache_root))
        sockets = stack.enter_context(run_directory(Path(tempfile.gettempdir())))
        ports = stack.enter_context(reserved_ports(_ENGINES + 2, wanted.port))
        stage = Stage(wanted, Directories(chunks, sockets), ports, supports_direct_io(chunks))
        if transfer(wanted.preset) is not Transfer.LMCACHE_DRIVEN:
            stack.enter_context(shared_memory(chunks.name, stage.l1_gib))
        stack.callback(stage.stop)
        stage.start_server()
        yield stage
