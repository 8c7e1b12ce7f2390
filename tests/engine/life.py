"""An engine from start to stop with its chunk files: asks documents, sees what LMCache says, waits for its writes."""

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kvtiers.result.evidence import RequestLog
from kvtiers.result.steps import Step
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Plan, lmcache_environment, settings
from lab.engines.launch import Launch
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.engines.process import Process, wait_until_healthy
from lab.judge.engine_log import EngineLog
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, Directories, LocalRun, launches, pool_of
from lab.measure.client import Client
from lab.measure.documents import TokenSource, ordinary_ids
from lab.measure.server import RequestError
from lab.run_directory import run_directory

DOCUMENT_TOKENS, VOCABULARY = 1330, 2048
HELD_TOKENS = 1280  # in full chunks
CHUNKS, CHUNK_BYTES = 5, 256 * 16384
# Two of them fill the pool, whatever it held.
FLOODS = ("flood 1", "flood 2")
POINTS = ("connector", "own cache", "tier", "changed token", "answers", "log")  # of ``lab check``
TIMEOUT_S = 300.0
_SOURCE = TokenSource(ordinary_ids(VOCABULARY), seed=0)


def prompt(name: str) -> tuple[int, ...]:
    """The token ids of a document."""
    return _SOURCE.document(name, DOCUMENT_TOKENS).token_ids


@dataclass(frozen=True)
class Answer:
    """What the client got, and what LMCache logged about it; ``said``: all the engine logged meanwhile."""

    token_ids: tuple[int, ...]
    log: RequestLog
    error: str
    said: str

    @property
    def load(self) -> tuple[int, int, int]:
        """Tokens found at the lookup, planned to load, loaded."""
        return self.log.hit_tokens, self.log.need_to_load_tokens, self.log.retrieved_tokens

    @property
    def complaints(self) -> list[str]:
        """Warnings and errors."""
        return [line for line in self.said.splitlines() if "WARNING" in line or "ERROR" in line]


@dataclass
class Life:
    """One engine, and the directory it keeps chunks in."""

    engine: Process
    client: Client
    directory: Path
    chunks: dict[str, list[Path]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def files(self) -> set[Path]:
        """Chunk files that are written to the end."""
        found = (path for path in self.directory.rglob("*") if path.suffix in (".pt", ".data"))
        return {path for path in found if path.stat().st_size >= CHUNK_BYTES}

    def ask(self, name: str, step: Step = Step.GPU_HIT) -> Answer:
        """Ask for a document; ``step`` says which of the request's log lines to wait for."""
        log, start = EngineLog(self.engine.log_path), self.engine.log_path.stat().st_size
        request_id = f"life-{next(self._numbers)}"
        token_ids, error = tuple[int, ...](), ""
        try:
            token_ids = self.client.complete(prompt(name), 16, request_id).token_ids
        except RequestError as failure:
            error = str(failure)
        self.engine.check()
        found = log.request(request_id, step)
        return Answer(token_ids, found, error, self.engine.log_path.read_bytes()[start:].decode(errors="replace"))

    def store(self, *names: str) -> dict[str, Answer]:
        """Ask for new documents one by one, each until its chunk files are written."""
        answers = {}
        for name in names:
            before = self.files()
            answers[name] = self.ask(name, Step.COLD)
            self._await_files(len(before) + CHUNKS)
            self.chunks[name] = sorted(self.files() - before)
        return answers

    def _await_files(self, count: int) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while len(self.files()) < count:
            self.engine.check()
            assert time.monotonic() < deadline, f"{len(self.files())} of {count} chunk files in {self.directory}"
            time.sleep(0.02)


Change = Callable[[Launch], Launch]


def wired(plan: Plan) -> Change:
    """LMCache's settings as ``kvtiers plan`` writes them, in place of the lab's own."""

    def change(launch: Launch) -> Launch:
        ours = {name for name in launch.environment if name.startswith("LMCACHE_")} - {"LMCACHE_TRACK_USAGE"}
        kept = {name: value for name, value in launch.environment.items() if name not in ours}
        return replace(launch, environment=kept | lmcache_environment(settings(plan)))

    return change


def connector(**values: object) -> Change:
    """Values of --kv-transfer-config over the lab's own."""

    def change(launch: Launch) -> Launch:
        at = launch.command.index("--kv-transfer-config") + 1
        config = json.dumps(json.loads(launch.command[at]) | values)
        return replace(launch, command=(*launch.command[:at], config, *launch.command[at + 1 :]))

    return change


@contextmanager
def planned(wanted: LocalRun) -> Iterator[tuple[Path, list[Launch]]]:
    """A directory for its chunks, and what a run would start."""
    with (
        run_directory(DEFAULT_CACHE_ROOT) as chunks,
        run_directory(Path(tempfile.gettempdir())) as sockets,
        reserved_ports(wanted.ports) as ports,
    ):
        yield chunks, launches(wanted, pool_of(wanted), Directories(chunks, sockets), ports, direct_io=False)


@contextmanager
def alive(logs: Path, wanted: dict[Path, Sequence[Change]]) -> Iterator[list[Life]]:
    """The lab's engine with LMCache, one for each chunk directory with its changes, started side by side."""
    with ExitStack() as stack:
        sockets = stack.enter_context(run_directory(Path(tempfile.gettempdir())))
        ports = stack.enter_context(reserved_ports(len(wanted)))
        lives = []
        run = LocalRun(PRESETS["tiny"], Knobs(control=False), lmcache_mode=LMCacheMode.IN_PROCESS)
        for port, (directory, changes) in zip(ports, wanted.items(), strict=True):
            (launch,) = launches(run, pool_of(run), Directories(directory, sockets), [port], direct_io=False)
            for change in changes:
                launch = change(launch)
            engine = stack.enter_context(Process(launch, logs / f"{directory.name}.log"))
            client = Client(engine.url, run.preset.name)
            stack.callback(client.close)
            lives.append(Life(engine, client, directory))
        wait_until_healthy([life.engine for life in lives], TIMEOUT_S, lambda *_: None)
        yield lives
