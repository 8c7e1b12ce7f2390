"""The exact command and environment of each process. Nothing is started here; ``--dry-run`` prints this.

What concerns LMCache comes from kvtiers.settings, as ``kvtiers plan`` writes it.
"""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kvtiers.result.schema import Program
from kvtiers.result.steps import Arm
from kvtiers.settings import mp, wiring
from kvtiers.settings.wiring import Plan, Platform, Wiring, connector, lmcache_environment, settings
from kvtiers.units import GIB
from lab.engines import card
from lab.engines.card import CardShare
from lab.engines.presets import Preset
from lab.knobs import Pool
from lab.paths import ENGINES, engine_python
from machine.gpu import Card, in_wsl
from machine.limits import usable_threads

HOST = "127.0.0.1"
_QUIET = {
    "DO_NOT_TRACK": "1",
    "LMCACHE_TRACK_USAGE": "false",
    "LMCACHE_DISABLE_BANNER": "1",
    "PYTHONUTF8": "1",  # whatever the caller's locale: they read and write UTF-8 files
}


@dataclass(frozen=True)
class Storage:
    """Where LMCache keeps chunks: at most ``limit_bytes`` on the drive, ``l1_gib`` in the RAM of its server; inside an
    engine they pass through a buffer of ``staging_gib``, even without a CPU tier."""

    directory: Path
    limit_bytes: float
    l1_gib: float
    staging_gib: float
    direct_io: bool


@dataclass(frozen=True)
class Launch:
    """One process, ready to start, that answers HTTP on ``port``. ``environment`` is what the lab sets on top of the
    caller's own."""

    arm: Arm
    program: Program
    port: int
    command: tuple[str, ...]
    environment: dict[str, str]

    @property
    def name(self) -> str:
        """As a person calls it."""
        return "LMCache server" if self.program is Program.SERVER else f"{self.arm} engine"

    @property
    def log_name(self) -> str:
        """What its log file is called."""
        return "server" if self.program is Program.SERVER else self.arm.value

    def shell(self) -> str:
        """The same as one would type it."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return " \\\n  ".join([*variables, shlex.join(self.command)])

    def process_environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The caller's environment without settings that would change the experiment unseen, plus the lab's."""
        kept = {name: value for name, value in inherited.items() if not name.startswith(("LMCACHE_", "VLLM_"))}
        return {**kept, **self.environment}


@dataclass(frozen=True)
class Connection:
    """How an engine reaches LMCache: what is added to its arguments and its environment."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None


def platform_of(preset: Preset) -> Platform:
    """What its engine runs on here."""
    if preset.engine == "cpu":
        return Platform.CPU
    return Platform.WSL2 if in_wsl() else Platform.CUDA


def transfer(preset: Preset) -> mp.Transfer:
    """Who copies KV there."""
    return platform_of(preset).transfer


def mp_mode(preset: Preset, storage: Storage, chunk_tokens: int, port: int, http_port: int) -> mp.MPMode:
    """LMCache's server with RAM and the drive under test: the plan's, at addresses and in shared memory of the run."""
    plan = Plan(
        Wiring.MP_DRIVE,
        preset.name,
        cpu_gib=storage.l1_gib,
        disk_path=str(storage.directory),
        chunk_tokens=chunk_tokens,
        platform=platform_of(preset),
    )
    mode = wiring.mp_mode(plan)
    assert mode is not None
    return replace(
        mode,
        l2=mp.Drive(plan.disk_path, storage.direct_io),
        host=HOST,
        port=port,
        http_port=http_port,
        shm_name=mode.shm_name and storage.directory.name,
    )


def server_launch(mode: mp.MPMode, engine: str, gpu: Card | None) -> Launch:
    """LMCache's server, out of the engine's environment."""
    program, *arguments = mp.server_command(mode)
    command = (str(engine_python(engine).parent / program), *arguments)
    on_gpu = card.environment(gpu) if engine == "cuda" else {}
    return Launch(Arm.LMCACHE, Program.SERVER, mode.http_port, command, _QUIET | on_gpu)


def in_process(preset: Preset, storage: Storage, chunk_tokens: int) -> Connection:
    """LMCache inside the engine, SSD only: without a CPU tier a hit can come from nowhere else."""
    plan = Plan(
        Wiring.IN_PROCESS_DISK_ONLY,
        preset.name,
        disk_path=str(storage.directory),
        disk_gib=round(max(1.0, storage.limit_bytes / GIB), 2),
        chunk_tokens=chunk_tokens,
        staging_gib=storage.staging_gib,
    )
    environment = lmcache_environment(settings(plan) | {"extra_config": {"use_odirect": storage.direct_io}})
    wired = connector(plan)
    if preset.engine == "cpu":
        wired |= {"kv_connector": "LMCacheCPUConnectorV1", "kv_connector_module_path": "lmcache_cpu_connector"}
        environment["PYTHONPATH"] = str(ENGINES / "cpu")
    return Connection(("--kv-transfer-config", mp.compact(wired)), environment)


def engine_launch(
    arm: Arm,
    preset: Preset,
    pool: Pool,
    connection: Connection,
    *,
    port: int,
    runtime: Path,
    share: CardShare | None = None,
    arguments: tuple[str, ...] = (),
) -> Launch:
    """The engine of one arm. ``runtime``: a directory of the run's own for sockets, on a short path, as they need, and
    for the temporary file that vLLM leaves at each start; ``share``: of the card it runs on, where one is known;
    ``arguments``: the user's, after the lab's own."""
    command = [str(engine_python(preset.engine)), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", preset.model, "--served-model-name", preset.name, "--dtype", preset.dtype]
    command += ["--host", HOST, "--port", str(port), "--max-model-len", str(pool.tokens)]
    command += ["--block-size", str(preset.block_tokens), "--num-gpu-blocks-override", str(pool.blocks)]
    environment = _QUIET | {"VLLM_NO_USAGE_STATS": "1", "PYTHONHASHSEED": "0", "TMPDIR": str(runtime)}
    environment["VLLM_RPC_BASE_PATH"] = str(runtime)
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}  # set-up has brought the model
    if preset.engine == "cpu":
        command += ["--enforce-eager", "--distributed-executor-backend", "uni"]
        environment |= _cpu_environment(pool)
    else:
        environment |= card.environment(share.card if share else None) | platform_of(preset).environment
    if share:
        command += ["--gpu-memory-utilization", f"{share.utilization:g}"]
    command += [*connection.arguments, *arguments]
    return Launch(arm, Program.ENGINE, port, tuple(command), environment | dict(connection.environment or {}))


def engine_threads() -> int:
    """Compute threads of a CPU engine: all that this process may use but one, which the client needs."""
    return max(1, usable_threads() - 1)


def _cpu_environment(pool: Pool) -> dict[str, str]:
    return {
        # Both arms must compute with the same number of threads, or the control compares machines, not tiers.
        "OMP_NUM_THREADS": str(engine_threads()),
        "VLLM_CPU_KVCACHE_SPACE": str(math.ceil(pool.total_bytes / GIB)),
        # One process less to start: the worker lives in the engine core's process. Only then may "uni" be chosen.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "TORCHDYNAMO_DISABLE": "1",
    }
