"""From the chosen tiers to settings: vLLM's command, and an LMCache server beside it or LMCache's settings inside it.

Sources: LMCache 0.5.6 (defaults, LMCACHE_ variables, sizes in GiB per worker) and vLLM 0.32.0 (KV connectors,
TieringOffloadingSpec). MP mode's settings are in ``mp``.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from kvtiers.errors import KvtiersError
from kvtiers.settings import mp
from kvtiers.settings.mp import ROLE_AND_POLICY, Bucket, Drive, MPMode, Redis, Transfer, absolute, compact
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.units import GIB, positive

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# LMCache loads through this much host memory even where no CPU tier is wanted; a longer prefix would never load.
STAGING_GIB = 5.0


class Platform(StrEnum):
    """What vLLM runs on. Without CUDA IPC, which WSL2 lacks, the engine must copy KV itself."""

    CUDA = "cuda"
    WSL2 = "wsl2"
    CPU = "cpu"

    @property
    def transfer(self) -> Transfer:
        """Who copies KV between engine and LMCache's server."""
        return {Platform.CPU: Transfer.AUTO, Platform.WSL2: Transfer.ENGINE_DRIVEN}.get(self, Transfer.LMCACHE_DRIVEN)

    @property
    def environment(self) -> dict[str, str]:
        """What an engine there is told, whatever it serves: vLLM pins no memory in WSL2 unless asked to."""
        return {"VLLM_WSL2_ENABLE_PIN_MEMORY": "1"} if self is Platform.WSL2 else {}


class Wiring(StrEnum):
    """Which tiers to wire below the GPU's own KV pool, and by whom: best first, the in-process legacy last."""

    MP_RAM = "mp_ram"
    MP_DRIVE = "mp_drive"
    MP_REDIS = "mp_redis"
    MP_S3 = "mp_s3"
    VLLM_TIERING = "vllm_tiering"
    IN_PROCESS_RAM = "in_process_ram"
    IN_PROCESS_DISK = "in_process_disk"
    IN_PROCESS_DISK_ONLY = "in_process_disk_only"
    IN_PROCESS_DIRECTORY = "in_process_directory"

    @property
    def mode(self) -> LMCacheMode | None:
        """How LMCache runs; None where it does not."""
        if self is Wiring.VLLM_TIERING:
            return None
        return LMCacheMode.MP if self.startswith("mp") else LMCacheMode.IN_PROCESS

    @property
    def on_drive(self) -> bool:
        """Is KV kept on a local drive?"""
        return self not in (Wiring.MP_RAM, Wiring.MP_REDIS, Wiring.MP_S3, Wiring.IN_PROCESS_RAM)

    @property
    def survives_restart(self) -> bool:
        """Is KV written before a restart found again after it, given a stable hash, the same model and layout?"""
        lost = (Wiring.MP_RAM, Wiring.IN_PROCESS_RAM, Wiring.IN_PROCESS_DISK, Wiring.IN_PROCESS_DISK_ONLY)
        return self not in lost


@dataclass(frozen=True)
class Plan:
    """What to wire, with the sizes and places it needs. Sizes are GiB of all workers; ``staging_gib`` of each."""

    wiring: Wiring
    model: str
    cpu_gib: float = 20.0
    disk_gib: float = 100.0
    disk_path: str = "/mnt/nvme/lmcache"
    redis_url: str = "redis://localhost:6379"
    chunk_tokens: int = 256
    s3_url: str = "s3://my-kv-cache.s3.eu-central-1.amazonaws.com"
    s3_region: str = "eu-central-1"
    max_model_len: int | None = None
    tensor_parallel: int = 1
    staging_gib: float = STAGING_GIB
    platform: Platform = Platform.CUDA


def mp_mode(plan: Plan) -> MPMode | None:
    """The LMCache server of the plan and its engine; None where it has none."""
    l2: Drive | Redis | Bucket | None = None
    match plan.wiring:
        case Wiring.MP_DRIVE:
            l2 = Drive(plan.disk_path)
        case Wiring.MP_REDIS:
            l2 = _redis(plan.redis_url)
        case Wiring.MP_S3:
            l2 = Bucket(plan.s3_url, plan.s3_region, limit_gib=plan.disk_gib)
        case Wiring.MP_RAM:
            pass
        case _:
            return None
    transfer = plan.platform.transfer
    return MPMode(
        l1_gib=positive("cpu_gib", plan.cpu_gib),
        l2=l2,
        chunk_tokens=plan.chunk_tokens,
        max_workers=plan.tensor_parallel,
        transfer=transfer,
        shm_name="" if transfer is Transfer.LMCACHE_DRIVEN else "kvtiers",
    )


def has_own_redis(plan: Plan) -> bool:
    """Is the plan's Redis on the host itself, where no other host finds it?"""
    return plan.wiring is Wiring.MP_REDIS and _redis(plan.redis_url).host in _LOOPBACK


def settings(plan: Plan) -> dict[str, Any]:
    """LMCache's settings by their names in lmcache.yaml; none where LMCache does not run inside the engine.

    Raises:
        KvtiersError: for a size of 0 where a tier needs one, or a path that is not absolute.
    """
    if plan.wiring.mode is not LMCacheMode.IN_PROCESS:
        return {}
    has_cpu_tier = plan.wiring is not Wiring.IN_PROCESS_DISK_ONLY
    share_gib = round(positive("cpu_gib", plan.cpu_gib) / plan.tensor_parallel, 2)
    common = {
        "chunk_size": plan.chunk_tokens,
        "local_cpu": has_cpu_tier,
        "max_local_cpu_size": share_gib if has_cpu_tier else plan.staging_gib,
        "pre_caching_hash_algorithm": "sha256",
    }
    match plan.wiring:
        case Wiring.IN_PROCESS_DISK | Wiring.IN_PROCESS_DISK_ONLY:
            # Without a limit, which is 0 by default, LMCache creates no disk tier and says nothing.
            limit_gib = round(positive("disk_gib", plan.disk_gib) / plan.tensor_parallel, 2)
            return common | {"local_disk": f"file://{absolute(plan.disk_path)}", "max_local_disk_size": limit_gib}
        case Wiring.IN_PROCESS_DIRECTORY:
            extra = {"remote_storage_plugin.fs.base_path": absolute(plan.disk_path)}
            return common | {"remote_storage_plugins": ["fs"], "extra_config": extra}
    return common


def lmcache_yaml(values: Mapping[str, Any]) -> str:
    """The settings as lmcache.yaml. Values are written as JSON, which YAML contains."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def lmcache_environment(values: Mapping[str, Any]) -> dict[str, str]:
    """The same settings as LMCACHE_ variables. LMCache reads only true and 1 as true."""
    return {f"LMCACHE_{key.upper()}": _variable(value) for key, value in values.items()}


def connector(plan: Plan) -> dict[str, Any]:
    """The value of ``--kv-transfer-config``."""
    mode = mp_mode(plan)
    if mode is not None:
        return mp.connector(mode)
    if plan.wiring is Wiring.VLLM_TIERING:
        extra = {
            "spec_name": "TieringOffloadingSpec",
            "cpu_bytes_to_use": int(positive("cpu_gib", plan.cpu_gib) * GIB),
            "secondary_tiers": [{"type": "fs", "root_dir": absolute(plan.disk_path)}],
        }
        return {"kv_connector": "OffloadingConnector", **ROLE_AND_POLICY, "kv_connector_extra_config": extra}
    return {"kv_connector": "LMCacheConnectorV1", **ROLE_AND_POLICY}


def engine_command(plan: Plan) -> list[str]:
    """The engine's program and arguments."""
    command = ["vllm", "serve", plan.model]
    if plan.max_model_len is not None:
        command += ["--max-model-len", str(plan.max_model_len)]
    if plan.tensor_parallel > 1:
        command += ["--tensor-parallel-size", str(plan.tensor_parallel)]
    return [*command, "--kv-transfer-config", compact(connector(plan))]


def engine_environment(plan: Plan) -> dict[str, str]:
    """The engine's variables, LMCache's settings among them where it runs inside.

    A hash seed that is equal in every process and after every restart; LMCache's server hashes alike by itself.
    """
    seed = {} if plan.wiring.mode is LMCacheMode.MP else {"PYTHONHASHSEED": "0"}
    return plan.platform.environment | seed | lmcache_environment(settings(plan))


def shell(command: Sequence[str], quote: Callable[[str], str] = shlex.quote) -> str:
    """A command quoted, for a POSIX shell unless said otherwise, on continued lines: one option a line."""
    lines: list[list[str]] = [[]]
    for word in command:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(quote(word))
    return " \\\n  ".join(map(" ".join, lines))


def exports(environment: Mapping[str, str]) -> str:
    """``export NAME=value`` lines, quoted for a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())


def _variable(value: object) -> str:
    match value:
        case str():
            return value
        case list():
            return ",".join(value)
        case _:
            return json.dumps(value)


def _redis(url: str) -> Redis:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("redis", "valkey") and parts.hostname and not parts.username and not parts.password:
            return Redis(parts.hostname, parts.port or Redis.port)
    except ValueError:
        pass
    raise KvtiersError(f"redis_url must look like redis://HOST:PORT, credentials in the environment, got {url!r}")
