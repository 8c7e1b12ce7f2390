"""From the chosen tiers to settings: the vLLM command, LMCache's environment, and the same as lmcache.yaml.

Sources: LMCache 0.5.6 (defaults, LMCACHE_ variables, sizes in GiB per worker, ``lmcache server``) and vLLM 0.32.0 (KV
connectors, TieringOffloadingSpec).
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.units import GIB, positive

# A lost or unreadable chunk is computed again; by default vLLM fails the request.
CONNECTOR = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}
# LMCache loads through this much host memory even where no CPU tier is wanted; a longer prefix would never load.
STAGING_GIB = 5.0


class Wiring(StrEnum):
    """Which tiers to wire below the GPU's own KV pool, and by whom."""

    CPU = "cpu"
    CPU_SSD = "cpu_ssd"
    SSD_DEMO = "ssd_demo"
    DIRECTORY = "directory"
    REDIS = "redis"
    S3 = "s3"
    MP_SERVER = "mp_server"
    VLLM_TIERING = "vllm_tiering"

    @property
    def in_process(self) -> bool:
        """Is it LMCache inside the engine, set by LMCACHE_ variables or lmcache.yaml?"""
        return self not in (Wiring.MP_SERVER, Wiring.VLLM_TIERING)

    @property
    def survives_restart(self) -> bool:
        """Is KV written before a restart found again after it, given a stable hash, the same model and layout?"""
        return self in (Wiring.DIRECTORY, Wiring.REDIS, Wiring.S3, Wiring.MP_SERVER, Wiring.VLLM_TIERING)


@dataclass(frozen=True)
class Plan:
    """What to wire, with the sizes and places it needs. Sizes are GiB per worker."""

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


def settings(plan: Plan) -> dict[str, Any]:
    """LMCache's settings by their names in lmcache.yaml; none where LMCache does not run inside the engine.

    Raises:
        KvtiersError: for a size of 0 where a tier needs one, or a path that is not absolute.
    """
    if not plan.wiring.in_process:
        return {}
    has_cpu_tier = plan.wiring is not Wiring.SSD_DEMO
    common = {
        "chunk_size": plan.chunk_tokens,
        "local_cpu": has_cpu_tier,
        "max_local_cpu_size": positive("cpu_gib", plan.cpu_gib) if has_cpu_tier else plan.staging_gib,
        "pre_caching_hash_algorithm": "sha256",
    }
    match plan.wiring:
        case Wiring.CPU_SSD | Wiring.SSD_DEMO:
            # Without a limit, which is 0 by default, LMCache creates no disk tier and says nothing.
            limit_gib = positive("disk_gib", plan.disk_gib)
            return common | {"local_disk": f"file://{_absolute(plan.disk_path)}", "max_local_disk_size": limit_gib}
        case Wiring.DIRECTORY:
            return common | _remote("fs", "base_path", _absolute(plan.disk_path))
        case Wiring.REDIS:
            return common | _remote("redis", "redis_url", plan.redis_url)
        case Wiring.S3:
            # LMCache 0.5.6 has no S3 plugin: the older remote_url is the one way there. Keys come from the AWS chain.
            extra = {"s3_region": plan.s3_region, "save_chunk_meta": False}
            return common | {"remote_url": plan.s3_url, "remote_serde": "naive", "extra_config": extra}
    return common


def lmcache_yaml(values: Mapping[str, Any]) -> str:
    """The settings as lmcache.yaml. Values are written as JSON, which YAML contains."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def lmcache_environment(values: Mapping[str, Any]) -> dict[str, str]:
    """The same settings as LMCACHE_ variables. LMCache reads only true and 1 as true."""
    return {f"LMCACHE_{key.upper()}": _variable(value) for key, value in values.items()}


def shared_environment() -> dict[str, str]:
    """What the engine needs besides: a hash seed that is equal in every process and after every restart."""
    return {"PYTHONHASHSEED": "0"}


def connector(plan: Plan) -> dict[str, Any]:
    """The value of ``--kv-transfer-config``.

    Raises:
        KvtiersError: for a size of 0 or a path that is not absolute.
    """
    match plan.wiring:
        case Wiring.MP_SERVER:
            return {**CONNECTOR, "kv_connector": "LMCacheMPConnector"}
        case Wiring.VLLM_TIERING:
            extra = {
                "spec_name": "TieringOffloadingSpec",
                "cpu_bytes_to_use": int(positive("cpu_gib", plan.cpu_gib) * plan.tensor_parallel * GIB),
                "secondary_tiers": [{"type": "fs", "root_dir": _absolute(plan.disk_path)}],
            }
            return {**CONNECTOR, "kv_connector": "OffloadingConnector", "kv_connector_extra_config": extra}
        case _:
            return dict(CONNECTOR)


def vllm_command(plan: Plan) -> str:
    """The server's command line, quoted for a POSIX shell, one option a line."""
    lines = [["vllm", "serve", plan.model]]
    if plan.max_model_len is not None:
        lines.append(["--max-model-len", str(plan.max_model_len)])
    if plan.tensor_parallel > 1:
        lines.append(["--tensor-parallel-size", str(plan.tensor_parallel)])
    lines.append(["--kv-transfer-config", json.dumps(connector(plan), separators=(",", ":"))])
    return _shell(lines)


def server_command(plan: Plan) -> str | None:
    """The ``lmcache server`` that MP mode needs beside vLLM; None elsewhere. Its ``fs`` adapter has no size limit.

    For a vLLM without a GPU add ``--supported-transfer-mode auto``: it copies the KV itself, which the server refuses
    by default, and the engine's start then hangs.
    """
    if plan.wiring is not Wiring.MP_SERVER:
        return None
    adapter = {"type": "fs", "base_path": _absolute(plan.disk_path)}
    return _shell(
        [
            ["lmcache", "server", "--chunk-size", str(plan.chunk_tokens)],
            ["--l1-size-gb", f"{positive('cpu_gib', plan.cpu_gib) * plan.tensor_parallel:g}"],
            ["--eviction-policy", "LRU"],
            ["--l2-adapter", json.dumps(adapter, separators=(",", ":"))],
        ]
    )


def exports(environment: Mapping[str, str]) -> str:
    """``export NAME=value`` lines, quoted for a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())


def _shell(lines: list[list[str]]) -> str:
    return " \\\n  ".join(shlex.join(line) for line in lines)


def _remote(plugin: str, key: str, value: str) -> dict[str, Any]:
    return {"remote_storage_plugins": [plugin], "extra_config": {f"remote_storage_plugin.{plugin}.{key}": value}}


def _variable(value: object) -> str:
    match value:
        case str():
            return value
        case list():
            return ",".join(value)
        case _:
            return json.dumps(value)


def _absolute(path: str) -> str:
    if not path.startswith("/") or "," in path:
        raise KvtiersError(f"disk_path must be one absolute path such as /mnt/nvme/lmcache, got {path!r}")
    return path
