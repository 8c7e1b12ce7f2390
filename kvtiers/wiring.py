"""From the chosen tiers to settings: the vLLM command, LMCache's environment, and the same as lmcache.yaml.

Sources: LMCache 0.5.6 (defaults, LMCACHE_ variables, sizes in GiB per worker) and vLLM 0.32.0 (KV connectors).
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.units import positive

CONNECTOR = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
# LMCache loads through this much host memory even where no CPU tier is wanted; a longer prefix would never load.
STAGING_GIB = 5.0


class Wiring(StrEnum):
    """Which tiers to wire below the GPU's own KV pool."""

    CPU = "cpu"
    CPU_SSD = "cpu_ssd"
    SSD_DEMO = "ssd_demo"
    DIRECTORY = "directory"
    REDIS = "redis"


@dataclass(frozen=True)
class Plan:
    """What to wire, with the sizes and places it needs."""

    wiring: Wiring
    model: str
    cpu_gib: float = 20.0
    disk_gib: float = 100.0
    disk_path: str = "/mnt/nvme/lmcache"
    redis_url: str = "redis://localhost:6379"
    chunk_tokens: int = 256


def settings(plan: Plan) -> dict[str, Any]:
    """LMCache's settings by their names in lmcache.yaml.

    Raises:
        KvtiersError: for a size of 0 where a tier needs one, or a path that is not absolute.
    """
    has_cpu_tier = plan.wiring is not Wiring.SSD_DEMO
    common = {
        "chunk_size": plan.chunk_tokens,
        "local_cpu": has_cpu_tier,
        "max_local_cpu_size": positive("cpu_gib", plan.cpu_gib) if has_cpu_tier else STAGING_GIB,
        "pre_caching_hash_algorithm": "sha256",
    }
    match plan.wiring:
        case Wiring.CPU:
            return common
        case Wiring.CPU_SSD | Wiring.SSD_DEMO:
            # Without a limit, which is 0 by default, LMCache creates no disk tier and says nothing.
            limit_gib = positive("disk_gib", plan.disk_gib)
            return common | {"local_disk": f"file://{_absolute(plan.disk_path)}", "max_local_disk_size": limit_gib}
        case Wiring.DIRECTORY:
            return common | _remote("fs", "base_path", _absolute(plan.disk_path))
        case Wiring.REDIS:
            return common | _remote("redis", "redis_url", plan.redis_url)


def lmcache_yaml(values: Mapping[str, Any]) -> str:
    """The settings as lmcache.yaml. Values are written as JSON, which YAML contains."""
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def lmcache_environment(values: Mapping[str, Any]) -> dict[str, str]:
    """The same settings as LMCACHE_ variables. LMCache reads only true and 1 as true."""
    return {f"LMCACHE_{key.upper()}": _variable(value) for key, value in values.items()}


def shared_environment() -> dict[str, str]:
    """What the engine needs besides: a hash seed that is equal in every process and after every restart."""
    return {"PYTHONHASHSEED": "0"}


def vllm_command(plan: Plan) -> str:
    """The server's command line, quoted for a POSIX shell, one option a line."""
    connector = json.dumps(CONNECTOR, separators=(",", ":"))
    lines = (["vllm", "serve", plan.model], ["--kv-transfer-config", connector])
    return " \\\n  ".join(shlex.join(line) for line in lines)


def exports(environment: Mapping[str, str]) -> str:
    """``export NAME=value`` lines, quoted for a POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())


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
