"""The exact command and environment of each arm's engine. Nothing is started here; ``--dry-run`` prints this."""

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kvtiers.result.steps import Arm
from kvtiers.units import GIB
from lab.engines.presets import Preset
from lab.errors import LabError
from lab.paths import ENGINES
from machine.limits import usable_threads

HOST = "127.0.0.1"
DEFAULT_POOL_TOKENS = 2700
MIN_STAGING_GIB = 1.0
STAGING_POOLS = 2


@dataclass(frozen=True)
class Knobs:
    """What the user may turn, in tokens. ``pool_tokens`` is a wish; the pool holds whole blocks. ``page_cache``: reuse
    a second time, with the chunk files in the operating system's page cache."""

    pool_tokens: int = DEFAULT_POOL_TOKENS
    document_tokens: int = 1330
    chunk_tokens: int = 256
    repeats: int = 3
    max_tokens: int = 32
    seed: int = 0
    control: bool = True
    page_cache: bool = False


@dataclass(frozen=True)
class Pool:
    """vLLM's KV pool. One block is reserved, so ``blocks`` blocks hold the tokens of one less."""

    blocks: int
    block_tokens: int
    kv_bytes_per_token: float

    @property
    def tokens(self) -> int:
        """Tokens that fit."""
        return (self.blocks - 1) * self.block_tokens

    @property
    def total_bytes(self) -> float:
        """Memory of all blocks."""
        return self.blocks * self.block_tokens * self.kv_bytes_per_token


@dataclass(frozen=True)
class Storage:
    """Where LMCache keeps chunks, and how many bytes of them at most."""

    directory: Path
    limit_bytes: float
    direct_io: bool


@dataclass(frozen=True)
class Launch:
    """One engine, ready to start. ``environment`` is what the lab sets on top of the caller's own."""

    arm: Arm
    port: int
    command: tuple[str, ...]
    environment: dict[str, str]

    def shell(self) -> str:
        """The same as one would type it."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return " \\\n  ".join([*variables, " ".join(shlex.quote(part) for part in self.command)])

    def process_environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The caller's environment without settings that would change the experiment unseen, plus the lab's."""
        kept = {name: value for name, value in inherited.items() if not name.startswith(("LMCACHE_", "VLLM_"))}
        return {**kept, **self.environment}


def pool_for(knobs: Knobs, block_tokens: int, kv_bytes_per_token: float) -> Pool:
    """The pool nearest below the wish, checked against the documents.

    Raises:
        LabError: naming the limit that a knob breaks.
    """
    pool = Pool(knobs.pool_tokens // block_tokens + 1, block_tokens, kv_bytes_per_token)
    document, chunk = knobs.document_tokens, knobs.chunk_tokens
    for name, value in (("--repeats", knobs.repeats), ("--max-tokens", knobs.max_tokens), ("--chunk-size", chunk)):
        if value < 1:
            raise LabError(f"{name} must be at least 1, got {value}")
    if chunk % block_tokens:
        raise LabError(f"--chunk-size {chunk} is not a multiple of the engine's block of {block_tokens} tokens")
    check_document(document, chunk)
    room = pool.tokens - knobs.max_tokens
    if document > room:
        raise LabError(
            f"a document of {document} tokens and {knobs.max_tokens} generated ones do not fit the pool of "
            f"{pool.tokens} tokens: at most {room}, or raise --pool-tokens"
        )
    return pool


def check_document(tokens: int, chunk_tokens: int) -> None:
    """Refuse lengths at which the steps cannot be told apart.

    Raises:
        LabError: shorter than one chunk, or a multiple of it.
    """
    if tokens <= chunk_tokens:
        raise LabError(
            f"a document of {tokens} tokens fills no chunk of {chunk_tokens}: LMCache stores full chunks only, so it "
            f"could never come back. Use at least {chunk_tokens + 1} tokens or a smaller --chunk-size"
        )
    if tokens % chunk_tokens == 0:
        raise LabError(
            f"a document of {tokens} tokens is a multiple of the chunk of {chunk_tokens}: then a GPU hit also logs "
            f"tokens to load, and looks like a reuse. Use {tokens + chunk_tokens // 5}"
        )


def flood_tokens(document_tokens: int, pool: Pool) -> int:
    """Length of each of the two documents that push the first one out: together at least the pool."""
    return max(document_tokens, math.ceil(pool.tokens / 2) + 1)


def plan(
    arm: Arm, preset: Preset, pool: Pool, knobs: Knobs, *, python: Path, port: int, storage: Storage, runtime: Path
) -> Launch:
    """The engine of one arm.

    Args:
        arm: LMCACHE adds the connector and its settings; everything else is equal.
        preset: the model and its engine.
        pool: from ``pool_for``.
        knobs: the experiment's.
        python: the engine environment's interpreter.
        port: on 127.0.0.1.
        storage: LMCache's disk tier.
        runtime: a short directory for sockets, ours to delete.
    """
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", preset.model, "--served-model-name", preset.name, "--dtype", preset.dtype]
    command += ["--host", HOST, "--port", str(port), "--max-model-len", str(pool.tokens)]
    command += ["--block-size", str(preset.block_tokens), "--num-gpu-blocks-override", str(pool.blocks)]
    environment = {
        "DO_NOT_TRACK": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "LMCACHE_TRACK_USAGE": "false",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",  # whatever the caller's locale: they read and write UTF-8 files
        "VLLM_RPC_BASE_PATH": str(runtime),
    }
    if Path(preset.model).is_absolute():
        environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if preset.engine == "cpu":
        command += ["--enforce-eager", "--distributed-executor-backend", "uni"]
        environment |= _cpu_environment(pool)
    if arm is Arm.LMCACHE:
        command += ["--kv-transfer-config", json.dumps(_connector(preset.engine))]
        environment |= _lmcache_environment(pool, knobs, storage)
        if preset.engine == "cpu":
            environment["PYTHONPATH"] = str(ENGINES / "cpu")
    return Launch(arm, port, tuple(command), environment)


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


def _connector(engine: str) -> dict[str, str]:
    config = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}
    if engine == "cpu":
        config |= {"kv_connector": "LMCacheCPUConnectorV1", "kv_connector_module_path": "lmcache_cpu_connector"}
    return config


def _lmcache_environment(pool: Pool, knobs: Knobs, storage: Storage) -> dict[str, str]:
    """SSD only: without a CPU tier a hit can come from nowhere else. LMCache's sizes are GiB."""
    return {
        "LMCACHE_CHUNK_SIZE": str(knobs.chunk_tokens),
        "LMCACHE_LOCAL_CPU": "false",
        # Chunks pass through this buffer even without a CPU tier; a hit that exceeds it would wait forever.
        "LMCACHE_MAX_LOCAL_CPU_SIZE": f"{max(MIN_STAGING_GIB, STAGING_POOLS * pool.total_bytes / GIB):.2f}",
        "LMCACHE_LOCAL_DISK": f"file://{storage.directory}/",
        "LMCACHE_MAX_LOCAL_DISK_SIZE": f"{max(1.0, storage.limit_bytes / GIB):.2f}",
        "LMCACHE_PRE_CACHING_HASH_ALGORITHM": "sha256",
        "LMCACHE_EXTRA_CONFIG": json.dumps({"use_odirect": storage.direct_io}),
    }
