"""A run on processes that the lab starts itself: which, with what, side by side or one after the other."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvtiers.model import kv_spec
from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm, Moment, Step
from kvtiers.settings.mp import vllm_arguments
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.units import GIB
from lab.engines.launch import Connection, Launch, Storage, engine_launch, in_process, mp_mode, server_launch
from lab.engines.ports import FIRST_PORT
from lab.engines.presets import Preset, preset_config
from lab.engines.process import MILESTONES, Process, wait_until_healthy
from lab.knobs import FLOODS, Knobs, Pool, pool_for
from lab.paths import STATE
from machine.memory import IN_PROCESS_MORE_BYTES, engines_that_fit
from progress import add_bar, bars, say

DEFAULT_CACHE_ROOT = STATE / "cache"
DEFAULT_START_TIMEOUT_S = 300.0
_STAND_IN = Path("/RUN")
# A quarter more room than is ever written: LMCache must never drop what a later step asks for.
_LIMIT_SLACK = 1.25
# LMCache's server begins to evict at 80 % of its RAM.
_L1_SLACK = 2.0
_MIN_L1_GIB = 0.5


@dataclass(frozen=True)
class LocalRun:
    """What to run and where. ``port``: the first of the run's ports; None: free ones are chosen. ``known_bad``: run
    versions too that are known not to work so wired."""

    preset: Preset
    knobs: Knobs
    document_paths: tuple[Path, ...] = ()
    cache_root: Path = DEFAULT_CACHE_ROOT
    port: int | None = None
    start_timeout_s: float = DEFAULT_START_TIMEOUT_S
    lmcache_mode: LMCacheMode = LMCacheMode.MP
    known_bad: bool = False

    @property
    def arms(self) -> tuple[Arm, ...]:
        """LMCache, and the control unless it is not wanted."""
        return (Arm.LMCACHE, Arm.CONTROL) if self.knobs.control else (Arm.LMCACHE,)

    @property
    def ports(self) -> int:
        """One an arm, then the server's two."""
        return len(self.arms) + (2 if self.lmcache_mode is LMCacheMode.MP else 0)


@dataclass(frozen=True)
class Directories:
    """The run's own: ``chunks`` on the drive under test, ``sockets`` under a short path, as Unix sockets need."""

    chunks: Path
    sockets: Path


def dry_run(wanted: LocalRun) -> list[Launch]:
    """Exactly what would be started, with a stand-in for the run's own directory. Starts and makes nothing."""
    directories = Directories(_STAND_IN / "chunks", _STAND_IN / "sockets")
    first = wanted.port or FIRST_PORT
    ports = range(first, first + wanted.ports)
    return launches(wanted, pool_of(wanted), directories, ports, direct_io=not wanted.knobs.page_cache)


def pool_of(wanted: LocalRun) -> Pool:
    """The pool of a run whose model may not be there yet."""
    kv_bytes = wanted.preset.kv_bytes_per_token or kv_spec(preset_config(wanted.preset)).bytes_per_token
    return pool_for(wanted.knobs, wanted.preset.block_tokens, kv_bytes)


def storage_for(wanted: LocalRun, pool: Pool, chunks: Path, *, direct_io: bool) -> Storage:
    """Room for all that a run stores, and in the server's RAM for all of one round."""
    document_tokens, stored_tokens = _tokens_stored(wanted, pool)
    round_tokens = 2 * document_tokens + 2 * FLOODS * pool.flood_tokens(document_tokens)
    l1_gib = max(_MIN_L1_GIB, math.ceil(10 * _L1_SLACK * round_tokens * pool.kv_bytes_per_token / GIB) / 10)
    return Storage(chunks, _LIMIT_SLACK * stored_tokens * pool.kv_bytes_per_token, l1_gib, direct_io)


def launches(
    wanted: LocalRun, pool: Pool, directories: Directories, ports: Sequence[int], *, direct_io: bool
) -> list[Launch]:
    """LMCache's server, where there is one, then one engine an arm."""
    preset, chunk_tokens = wanted.preset, wanted.knobs.chunk_tokens
    storage = storage_for(wanted, pool, directories.chunks, direct_io=direct_io)
    group = []
    if wanted.lmcache_mode is LMCacheMode.MP:
        mode = mp_mode(preset, storage, chunk_tokens, port=ports[-1], http_port=ports[-2])
        group.append(server_launch(mode, preset.engine))
        lmcache = Connection(tuple(vllm_arguments(mode)))
    else:
        lmcache = in_process(preset, pool, storage, chunk_tokens)
    for arm, port in zip(wanted.arms, ports, strict=False):
        connection = lmcache if arm is Arm.LMCACHE else Connection()
        group.append(engine_launch(arm, preset, pool, connection, port=port, runtime=directories.sockets))
    return group


def process_groups(wanted: LocalRun, pool: Pool, l1_gib: float, planned: Sequence[Launch]) -> list[list[Launch]]:
    """Processes that are up at once. On CPUs both arms are, and take turns, which cancels drift, where memory holds
    both; a GPU's memory is for one of them.

    Raises:
        MachineError: memory holds no engine at all.
    """
    engines = sum(launch.program is Program.ENGINE for launch in planned)
    if wanted.preset.engine != "cuda":
        is_mp = wanted.lmcache_mode is LMCacheMode.MP
        lmcache_bytes = max(0.0, l1_gib - _MIN_L1_GIB) * GIB if is_mp else IN_PROCESS_MORE_BYTES
        if engines_that_fit(pool.total_bytes + _weight_bytes(wanted.preset), lmcache_bytes) >= engines:
            return [list(planned)]
        say("memory holds one engine at a time: the arms run one after the other, and drift would show")
    return [group for arm in Arm if (group := [launch for launch in planned if launch.arm is arm])]


@contextlib.contextmanager
def running(group: Sequence[Launch], logs: Path, timeout_s: float) -> Iterator[list[Process]]:
    """Processes that are healthy on entry and gone on exit; each logs to a file of its name in ``logs``."""
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(Process(launch, logs / f"{launch.log_name}.log")) for launch in group]
        with bars() as progress:
            starts = {
                process: add_bar(progress, f"start {process.launch.name}", len(MILESTONES[process.launch.program]))
                for process in processes
            }

            def on_progress(process: Process, reached: int, note: str) -> None:
                starts[process].reach(reached)
                starts[process].note(note)

            wait_until_healthy(processes, timeout_s, on_progress)
        for process in processes:
            say(f"{process.launch.name} healthy after {process.start_s:.0f} s")
        yield processes


def bytes_stored(wanted: LocalRun, pool: Pool) -> float:
    """KV of every document and flood, warm-up included."""
    return _tokens_stored(wanted, pool)[1] * pool.kv_bytes_per_token


def _tokens_stored(wanted: LocalRun, pool: Pool) -> tuple[int, int]:
    """Of the longest document, and of all. Of text files only an upper bound is known here: the pool."""
    document_tokens = pool.tokens if wanted.document_paths else wanted.knobs.document_tokens
    rounds = wanted.knobs.repeats * max(1, len(wanted.document_paths)) + 1
    floods = FLOODS * sum(step.moment is Moment.EVICTED and Arm.LMCACHE in step.arms for step in Step)
    return document_tokens, rounds * (document_tokens + floods * pool.flood_tokens(document_tokens))


def _weight_bytes(preset: Preset) -> int:
    """Of a model directory; 0 for one that is still to be downloaded."""
    return sum(file.stat().st_size for file in Path(preset.model).glob("*.safetensors"))
