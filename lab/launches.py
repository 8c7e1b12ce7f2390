"""A run on processes that the lab starts itself: which, with what, side by side or one after the other."""

import contextlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvtiers.model import kv_spec
from kvtiers.result.steps import Arm, Moment, Step
from kvtiers.settings.mp import Transfer, vllm_arguments
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.units import GIB, format_bytes
from lab.engines.card import CardShare, card_share
from lab.engines.launch import Connection, Launch, Storage, engine_launch, in_process, mp_mode, server_launch, transfer
from lab.engines.models import preset_config, weight_bytes
from lab.engines.ports import FIRST_PORT, ports_from, reserved_ports
from lab.engines.presets import Preset
from lab.engines.process import MILESTONES, Process, wait_until_healthy
from lab.engines.shared_memory import shared_memory
from lab.errors import LabError
from lab.knobs import FLOODS, Knobs, Pool, pool_for
from lab.measure.chunks import check_cache_root, supports_direct_io
from lab.paths import STATE
from lab.run_directory import alone, run_directory
from machine.gpu import Card
from machine.limits import available_memory_bytes
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
_MIN_STAGING_GIB = 1.0


@dataclass(frozen=True)
class LocalRun:
    """What to run and where. ``port``: the first of the run's ports; None: free ones are chosen. ``known_bad``: run
    versions too that are known not to work so wired. ``card``: the GPU, where one is used and known;
    ``engine_arguments``: the user's own, for both arms; ``model_directory``: where set-up has put the model;
    ``least_engines``: how many have to be up at once."""

    preset: Preset
    knobs: Knobs
    document_paths: tuple[Path, ...] = ()
    cache_root: Path = DEFAULT_CACHE_ROOT
    port: int | None = None
    start_timeout_s: float = DEFAULT_START_TIMEOUT_S
    lmcache_mode: LMCacheMode = LMCacheMode.MP
    known_bad: bool = False
    card: Card | None = None
    engine_arguments: tuple[str, ...] = ()
    model_directory: Path | None = None
    least_engines: int = 1

    @property
    def is_mp(self) -> bool:
        """Is LMCache a server beside the engine?"""
        return self.lmcache_mode is LMCacheMode.MP

    @property
    def arms(self) -> tuple[Arm, ...]:
        """LMCache, and the control unless it is not wanted."""
        return (Arm.LMCACHE, Arm.CONTROL) if self.knobs.control else (Arm.LMCACHE,)

    @property
    def ports(self) -> int:
        """One an arm, then the server's two."""
        return len(self.arms) + (2 if self.is_mp else 0)


@dataclass(frozen=True)
class Directories:
    """The run's own: ``chunks`` on the drive under test, ``sockets`` under a short path, as Unix sockets need."""

    chunks: Path
    sockets: Path


@dataclass(frozen=True)
class Staged:
    """What a run has of this machine while it lasts."""

    directories: Directories
    storage: Storage
    ports: tuple[int, ...]


@contextlib.contextmanager
def staged(wanted: LocalRun, pool: Pool, ports: int) -> Iterator[Staged]:
    """Directories, room in shared memory and ports for the one run of this clone; all of it is gone afterwards.

    Raises:
        LabError: another run is under way, or one of them can't be had.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(alone())
        check_cache_root(wanted.cache_root, bytes_stored(wanted, pool))
        chunks = stack.enter_context(run_directory(wanted.cache_root))
        sockets = stack.enter_context(run_directory(Path(tempfile.gettempdir())))
        reserved = stack.enter_context(reserved_ports(ports, wanted.port))
        direct_io = not wanted.knobs.page_cache and supports_direct_io(chunks)
        storage = storage_for(wanted, pool, chunks, direct_io=direct_io)
        if wanted.is_mp and transfer(wanted.preset) is not Transfer.LMCACHE_DRIVEN:
            stack.enter_context(shared_memory(chunks.name, storage.l1_gib))
        yield Staged(Directories(chunks, sockets), storage, reserved)


def dry_run(wanted: LocalRun) -> list[Launch]:
    """Exactly what would be started, with a stand-in for the run's own directory. Starts and makes nothing."""
    directories = Directories(_STAND_IN / "chunks", _STAND_IN / "sockets")
    ports = ports_from(wanted.port or FIRST_PORT, wanted.ports)
    return launches(wanted, pool_of(wanted), directories, ports, direct_io=not wanted.knobs.page_cache)


def pool_of(wanted: LocalRun) -> Pool:
    """The pool of a run whose model may not be there yet."""
    kv_bytes = wanted.preset.kv_bytes_per_token or kv_spec(preset_config(wanted.preset)).bytes_per_token
    return pool_for(wanted.knobs, wanted.preset.block_tokens, kv_bytes, seeded=not wanted.document_paths)


def storage_for(wanted: LocalRun, pool: Pool, chunks: Path, *, direct_io: bool) -> Storage:
    """Room for all that a run stores, in the server's RAM for all of one round, and in an engine's buffer for all that
    waits to be written before the next reuse: what finds no room is dropped, a hit larger than it waits for ever."""
    document_tokens, stored_tokens = _tokens_stored(wanted, pool)
    waiting_tokens = document_tokens + FLOODS * pool.flood_tokens(document_tokens)
    gib_a_token = pool.kv_bytes_per_token / GIB
    return Storage(
        chunks,
        limit_bytes=_LIMIT_SLACK * stored_tokens * pool.kv_bytes_per_token,
        l1_gib=_tenths(max(_MIN_L1_GIB, _L1_SLACK * 2 * waiting_tokens * gib_a_token)),
        staging_gib=_tenths(max(_MIN_STAGING_GIB, _LIMIT_SLACK * waiting_tokens * gib_a_token)),
        direct_io=direct_io,
    )


def launches(
    wanted: LocalRun, pool: Pool, directories: Directories, ports: Sequence[int], *, direct_io: bool
) -> list[Launch]:
    """LMCache's server, where there is one, then one engine an arm."""
    preset, chunk_tokens = wanted.preset, wanted.knobs.chunk_tokens
    storage = storage_for(wanted, pool, directories.chunks, direct_io=direct_io)
    group, share = list[Launch](), share_of_card(wanted, pool)
    if wanted.is_mp:
        mode = mp_mode(preset, storage, chunk_tokens, port=ports[-1], http_port=ports[-2])
        group.append(server_launch(mode, preset.engine, wanted.card))
        lmcache = Connection(tuple(vllm_arguments(mode)))
    else:
        lmcache = in_process(preset, storage, chunk_tokens)
    for arm, port in zip(wanted.arms, ports, strict=False):
        connection = lmcache if arm is Arm.LMCACHE else Connection()
        group.append(
            engine_launch(
                arm,
                preset,
                pool,
                connection,
                port=port,
                runtime=directories.sockets,
                share=share,
                arguments=wanted.engine_arguments,
            )
        )
    return group


def share_of_card(wanted: LocalRun, pool: Pool) -> CardShare | None:
    """What the run takes of its GPU; None where it uses none, or none is known."""
    if wanted.card is None:
        return None
    return card_share(wanted.card, pool, weight_bytes(wanted.preset, wanted.model_directory), with_server=wanted.is_mp)


def process_groups(wanted: LocalRun, pool: Pool, storage: Storage, planned: Sequence[Launch]) -> list[list[Launch]]:
    """Processes that are up at once. Both arms are where memory holds both, and take turns, which cancels drift.

    Raises:
        MachineError, LabError: memory does not hold the least.
    """
    if engines_at_once(wanted, pool, storage) >= len(wanted.arms):
        return [list(planned)]
    say("memory holds one engine at a time: the arms run one after the other, and drift would show")
    return [group for arm in Arm if (group := [launch for launch in planned if launch.arm is arm])]


def engines_at_once(wanted: LocalRun, pool: Pool, storage: Storage) -> int:
    """How many engines memory holds now: 1, or 2 and more.

    Raises:
        MachineError, LabError: fewer than the run's least.
    """
    if share := share_of_card(wanted, pool):
        share.require(wanted.least_engines)
        _require_ram(GIB * (storage.l1_gib if wanted.is_mp else storage.staging_gib))
        return share.engines
    more_gib = storage.l1_gib - _MIN_L1_GIB if wanted.is_mp else storage.staging_gib - _MIN_STAGING_GIB
    lmcache_bytes = more_gib * GIB + (0 if wanted.is_mp else IN_PROCESS_MORE_BYTES)
    own_bytes = pool.total_bytes + weight_bytes(wanted.preset, wanted.model_directory)
    return engines_that_fit(own_bytes, lmcache_bytes, least=wanted.least_engines)


def _require_ram(wanted_bytes: float) -> None:
    free = available_memory_bytes()
    if free is not None and free < wanted_bytes:
        wanted, had = format_bytes(wanted_bytes), format_bytes(free)
        raise LabError(
            f"LMCache keeps up to {wanted} of KV in the system's memory, where {had} can be had: shorten the documents "
            "and --pool-tokens, or choose a smaller --preset"
        )


def _tenths(gib: float) -> float:
    return math.ceil(10 * gib) / 10


@contextlib.contextmanager
def running(group: Sequence[Launch], logs: Path, timeout_s: float, *, in_turn: bool = False) -> Iterator[list[Process]]:
    """Processes that are healthy on entry and gone on exit; each logs to a file of its name in ``logs``.

    They start side by side, or ``in_turn``, as on a GPU: an engine that starts there takes what others claim of the
    card meanwhile for its own.
    """
    processes = [Process(launch, logs / f"{launch.log_name}.log") for launch in group]
    with contextlib.ExitStack() as stack:
        with bars() as progress:
            starts = {
                process: add_bar(progress, f"start {process.launch.name}", len(MILESTONES[process.launch.program]))
                for process in processes
            }

            def on_progress(process: Process, reached: int, note: str) -> None:
                starts[process].reach(reached)
                starts[process].note(note)

            for last, process in enumerate(processes, start=1):
                stack.enter_context(process)
                if in_turn or last == len(processes):
                    wait_until_healthy(processes[:last], timeout_s, on_progress)
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
