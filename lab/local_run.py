"""A run on engines that the lab starts itself: with LMCache, and the control without it."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtiers.model import kv_spec, parse_config
from kvtiers.result.schema import Arm, EngineRun, Mode, Model, Result, Settings
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.install import engine_versions, refuse_known_bad
from lab.engines.launch import Knobs, Launch, Pool, Storage, engine_threads, flood_tokens, plan, pool_for
from lab.engines.ports import FIRST_PORT, reserved_ports
from lab.engines.presets import Preset
from lab.engines.process import MILESTONES, Engine, wait_until_healthy
from lab.errors import LabError
from lab.judge.engine_log import EngineLog
from lab.machine import describe
from lab.measure.chunks import ChunkFiles, check_cache_root, run_directory, supports_direct_io
from lab.measure.client import Client
from lab.measure.documents import Document, TokenSource, ordinary_ids, read_documents
from lab.measure.scenarios import FLOODS, Experiment, Server
from lab.paths import LOGS, STATE, engine_python, portable
from lab.report.outcome import Drive, Outcome, assemble, collect, versions
from machine.memory import engines_that_fit
from progress import add_bar, bars, say

DEFAULT_CACHE_ROOT = STATE / "cache"
DEFAULT_START_TIMEOUT_S = 300.0
_STAND_IN = Path("/RUN")
# A quarter more room than is ever written: LMCache must never drop what a later step asks for.
_LIMIT_SLACK = 1.25


@dataclass(frozen=True)
class LocalRun:
    """What to run and where. ``port``: the first of the arms' ports; None: free ones are chosen."""

    preset: Preset
    knobs: Knobs
    document_paths: tuple[Path, ...] = ()
    cache_root: Path = DEFAULT_CACHE_ROOT
    port: int | None = None
    start_timeout_s: float = DEFAULT_START_TIMEOUT_S
    drive_gb_per_s: float | None = None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """LMCache, and the control unless it is not wanted."""
        return (Arm.LMCACHE, Arm.CONTROL) if self.knobs.control else (Arm.LMCACHE,)


@dataclass(frozen=True)
class Directories:
    """The run's own: ``chunks`` on the drive under test, ``sockets`` under a short path, as Unix sockets need."""

    chunks: Path
    sockets: Path


def dry_run(wanted: LocalRun) -> list[Launch]:
    """Exactly what would be started, with a stand-in for the run's own directory. Starts and makes nothing."""
    directories = Directories(_STAND_IN / "chunks", _STAND_IN / "sockets")
    first = wanted.port or FIRST_PORT
    ports = range(first, first + len(wanted.arms))
    return launches(wanted, pool_of(wanted), directories, ports, direct_io=not wanted.knobs.page_cache)


def pool_of(wanted: LocalRun) -> Pool:
    """The pool of a run whose model may not be there yet."""
    kv_bytes = wanted.preset.kv_bytes_per_token or kv_spec(_read_config(wanted.preset)).bytes_per_token
    return pool_for(wanted.knobs, wanted.preset.block_tokens, kv_bytes)


def launches(
    wanted: LocalRun, pool: Pool, directories: Directories, ports: Sequence[int], *, direct_io: bool
) -> list[Launch]:
    """One engine an arm, each on its port."""
    storage = Storage(directories.chunks, _LIMIT_SLACK * _bytes_written(wanted, pool), direct_io)
    return [
        plan(
            arm,
            wanted.preset,
            pool,
            wanted.knobs,
            python=engine_python(wanted.preset.engine),
            port=port,
            storage=storage,
            runtime=directories.sockets,
        )
        for arm, port in zip(wanted.arms, ports, strict=True)
    ]


@contextlib.contextmanager
def running(group: Sequence[Launch], logs: Path, timeout_s: float) -> Iterator[list[Engine]]:
    """Engines that are healthy on entry and gone on exit; each logs to a file of its arm's name in ``logs``."""
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(Engine(launch, logs / f"{launch.arm}.log")) for launch in group]
        with bars() as progress:
            starts = {engine: add_bar(progress, f"start {engine.launch.arm}", len(MILESTONES)) for engine in engines}

            def on_progress(engine: Engine, reached: int, note: str) -> None:
                starts[engine].reach(reached)
                starts[engine].note(note)

            wait_until_healthy(engines, timeout_s, on_progress)
        for engine in engines:
            say(f"{engine.launch.arm} engine healthy after {engine.start_s:.0f} s")
        yield engines


def run_local(wanted: LocalRun) -> Result:
    """Start, measure, stop.

    Raises:
        LabError: when it could not even begin. What breaks later is told by the result, which is then not valid.
    """
    preset, knobs = wanted.preset, wanted.knobs
    found = engine_versions(preset.engine)
    refuse_known_bad(found, LMCacheMode.IN_PROCESS, preset.engine)
    config = _read_config(preset)
    spec = kv_spec(config)
    pool = pool_for(knobs, preset.block_tokens, spec.bytes_per_token)
    check_cache_root(wanted.cache_root, _bytes_written(wanted, pool))
    outcome, engine_runs, drive = Outcome(), [], None
    with (
        run_directory(wanted.cache_root) as chunks,
        run_directory(Path(tempfile.gettempdir())) as sockets,
        reserved_ports(len(wanted.arms), wanted.port) as ports,
    ):
        direct_io = not knobs.page_cache and supports_direct_io(chunks)
        chunk_files = ChunkFiles(chunks, knobs.chunk_tokens * spec.bytes_per_token, direct_io)
        source = TokenSource(ordinary_ids(int(config["vocab_size"])), knobs.seed)
        planned = launches(wanted, pool, Directories(chunks, sockets), ports, direct_io=direct_io)
        experiment = None
        for group in engine_groups(preset, pool, planned):
            with running(group, LOGS, wanted.start_timeout_s) as engines, contextlib.ExitStack() as clients:
                engine_runs += [_engine_run(engine) for engine in engines]
                servers = [_server(engine, preset, chunk_files, clients) for engine in engines]
                experiment = experiment or _experiment(wanted, pool, source, servers[0].client)
                collect(experiment, servers, outcome)
            if outcome.problems:
                break
        assert experiment is not None
        bandwidth = wanted.drive_gb_per_s or chunk_files.read_gb_per_s()
        if bandwidth:
            how = "given" if wanted.drive_gb_per_s else "this run's chunk files, read back with direct IO"
            drive = Drive(bandwidth, how)
    return assemble(
        outcome,
        mode=Mode(preset.engine),
        versions=versions(found.vllm, found.lmcache, found.torch, found.python),
        machine=describe(wanted.cache_root),
        model=Model(preset.name, spec.kv_dtype, spec.bytes_per_token),
        settings=Settings(
            pool_tokens=pool.tokens,
            block_tokens=pool.block_tokens,
            chunk_tokens=knobs.chunk_tokens,
            document_tokens=tuple(len(document.token_ids) for document in experiment.documents),
            flood_tokens=experiment.flood_tokens,
            repeats=knobs.repeats,
            max_tokens=knobs.max_tokens,
            seed=knobs.seed,
            threads=engine_threads() if preset.engine == "cpu" else None,
            direct_io=direct_io,
        ),
        engines=engine_runs,
        drive=drive,
    )


def _bytes_written(wanted: LocalRun, pool: Pool) -> float:
    """KV of every document and flood, warm-up included. Of text files only the upper bound is known: the pool."""
    document_tokens = pool.tokens if wanted.document_paths else wanted.knobs.document_tokens
    rounds = wanted.knobs.repeats * max(1, len(wanted.document_paths)) + 1
    floods = FLOODS * (2 if wanted.knobs.page_cache else 1)
    tokens = document_tokens + floods * flood_tokens(document_tokens, pool)
    return rounds * tokens * pool.kv_bytes_per_token


def engine_groups(preset: Preset, pool: Pool, planned: Sequence[Launch]) -> list[Sequence[Launch]]:
    """Engines that are up at once. On CPUs both arms are, and take turns, which cancels drift, where memory holds both;
    a GPU's memory is for one of them.

    Raises:
        MachineError: memory holds no engine at all.
    """
    if preset.engine == "cuda":
        return [[launch] for launch in planned]
    if engines_that_fit(pool.total_bytes + _weight_bytes(preset)) >= len(planned):
        return [planned]
    say("memory holds one engine at a time: the arms run one after the other, and a drift of the machine would show")
    return [[launch] for launch in planned]


def _weight_bytes(preset: Preset) -> int:
    """Of a model directory; 0 for one that is still to be downloaded."""
    return sum(file.stat().st_size for file in Path(preset.model).glob("*.safetensors"))


def _engine_run(engine: Engine) -> EngineRun:
    launch = engine.launch
    environment = {name: portable(value) for name, value in launch.environment.items()}
    return EngineRun(launch.arm, tuple(map(portable, launch.command)), environment, engine.start_s)


def _server(engine: Engine, preset: Preset, chunk_files: ChunkFiles, clients: contextlib.ExitStack) -> Server:
    client = Client(engine.url, preset.name)
    clients.callback(client.close)
    if engine.launch.arm is Arm.CONTROL:
        return Server(Arm.CONTROL, client, engine.check)
    return Server(Arm.LMCACHE, client, engine.check, EngineLog(engine.log_path), chunk_files)


def _experiment(wanted: LocalRun, pool: Pool, source: TokenSource, client: Client) -> Experiment:
    knobs = wanted.knobs
    documents: Sequence[Document] = [source.document("seeded", knobs.document_tokens)]
    if wanted.document_paths:
        room = pool.tokens - knobs.max_tokens
        documents = read_documents(wanted.document_paths, client, knobs.chunk_tokens, room)
    longest = max(len(document.token_ids) for document in documents)
    return Experiment(
        documents=tuple(documents),
        source=source,
        flood_tokens=flood_tokens(longest, pool),
        floods=FLOODS,
        repeats=knobs.repeats,
        max_tokens=knobs.max_tokens,
        chunk_tokens=knobs.chunk_tokens,
        page_cache=knobs.page_cache,
    )


def _read_config(preset: Preset) -> dict[str, Any]:
    """The model's config.json; for a Hugging Face id the engine's own hub client finds or downloads it."""
    path = Path(preset.model)
    if not path.is_absolute():
        path = _hub_directory(preset)
    try:
        return parse_config((path / "config.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read {path / 'config.json'}: {error.strerror}") from error


def _hub_directory(preset: Preset) -> Path:
    ask = f"from huggingface_hub import hf_hub_download; print(hf_hub_download({preset.model!r}, 'config.json'))"
    answer = subprocess.run([engine_python(preset.engine), "-c", ask], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = answer.stderr.strip().splitlines()[-1:]
        raise LabError(f"cannot get the config of {preset.model}: {' '.join(reason)}")
    return Path(answer.stdout.strip()).parent
