"""LMCache's MP mode: ``lmcache server`` with RAM (L1) and a lower tier (L2), and vLLM's connector to it.

Sources: LMCache 0.5.6 (server arguments, L2 adapters, ``lmcache.mp.`` keys of the connector) and vLLM 0.32.0. Sizes are
GiB, and count once a server, however many engines or ranks use it.

    mode = MPMode(l1_gib=20, l2=Drive("/mnt/nvme/qwen3-8b-bf16"), max_workers=2)
    server_command(mode)    # ["lmcache", "server", "--chunk-size", "256", …]
    vllm_arguments(mode)    # ["--kv-transfer-config", '{"kv_connector":"LMCacheMPConnector",…}']
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.units import positive

# A lost or unreadable chunk is computed again; by default vLLM fails the request.
ROLE_AND_POLICY = {"kv_role": "kv_both", "kv_load_failure_policy": "recompute"}


class Transfer(StrEnum):
    """Who copies KV between engine and server. A vLLM without a GPU copies itself; the server must offer that."""

    LMCACHE_DRIVEN = "lmcache_driven"
    ENGINE_DRIVEN = "engine_driven"
    AUTO = "auto"


@dataclass(frozen=True)
class Drive:
    """A directory, found again after a restart; LMCache does not bound it."""

    path: str
    direct_io: bool = True

    def adapter(self) -> dict[str, Any]:
        """What ``--l2-adapter`` takes."""
        return {"type": "fs", "base_path": absolute(self.path), "use_odirect": self.direct_io}


@dataclass(frozen=True)
class Redis:
    """Redis or Valkey, which bounds itself by ``maxmemory``. Credentials: LMCACHE_RESP_USERNAME and _PASSWORD."""

    host: str
    port: int = 6379

    def adapter(self) -> dict[str, Any]:
        """What ``--l2-adapter`` takes."""
        return {"type": "resp", "host": self.host, "port": self.port}


@dataclass(frozen=True)
class Bucket:
    """S3. ``endpoint``: with the bucket in the host's name. Credentials: as boto3 finds them."""

    endpoint: str
    region: str
    limit_gib: float

    def adapter(self) -> dict[str, Any]:
        """What ``--l2-adapter`` takes."""
        # Without an eviction policy LMCache counts, and lets the tier grow.
        bound = {"max_capacity_gb": positive("limit_gib", self.limit_gib), "eviction": {"eviction_policy": "LRU"}}
        return {"type": "s3", "s3_endpoint": self.endpoint, "s3_region": self.region, **bound}


@dataclass(frozen=True)
class MPMode:
    """One server and the engines beside it.

    ``max_workers``: at least the ranks of all engines. ``shm_name``: shared memory for a transfer that the engine
    drives; without it KV is pickled. ``mq_timeout_s`` and ``heartbeat_s`` say how long a dead server holds requests up.
    """

    l1_gib: float
    l2: Drive | Redis | Bucket | None = None
    chunk_tokens: int = 256
    max_workers: int = 1
    host: str = "localhost"
    port: int = 5555
    http_host: str = "127.0.0.1"
    http_port: int = 8080
    transfer: Transfer = Transfer.LMCACHE_DRIVEN
    shm_name: str = ""
    mq_timeout_s: float = 30.0
    heartbeat_s: float = 5.0

    @property
    def noticed_s(self) -> float:
        """Until every engine has noticed that the server is gone: up to one heartbeat to the next, which then waits for
        one. An engine that noticed nothing does not tell a new server where its KV lies."""
        return 2.2 * self.heartbeat_s


def server_command(mode: MPMode) -> list[str]:
    """The server's program and arguments. Its HTTP port is for whoever runs it: no one is asked for a password there.

    Raises:
        KvtiersError: for a size of 0, a path that is not absolute, or shared memory that would not be used.
    """
    command = ["lmcache", "server", "--host", mode.host, "--port", str(mode.port)]
    command += ["--http-host", mode.http_host, "--http-port", str(mode.http_port)]
    command += ["--chunk-size", f"{positive('chunk_tokens', mode.chunk_tokens):d}"]
    command += ["--max-workers", f"{positive('max_workers', mode.max_workers):d}"]
    command += ["--l1-size-gb", f"{positive('l1_gib', mode.l1_gib):g}", "--eviction-policy", "LRU"]
    if mode.transfer is not Transfer.LMCACHE_DRIVEN:
        command += ["--supported-transfer-mode", mode.transfer.value]
    if mode.shm_name:
        if mode.transfer is Transfer.LMCACHE_DRIVEN:
            raise KvtiersError("shm_name is for a transfer that the engine drives: set transfer to auto")
        # A pool that grows can't be shared; the server would pickle instead, without a word.
        command += ["--shm-name", mode.shm_name, "--no-l1-use-lazy"]
    if mode.l2 is not None:
        command += ["--l2-adapter", compact(mode.l2.adapter())]
    return command


def connector(mode: MPMode) -> dict[str, Any]:
    """The value of ``--kv-transfer-config``."""
    extra: dict[str, Any] = {
        "lmcache.mp.host": f"tcp://{mode.host}",
        "lmcache.mp.port": mode.port,
        "lmcache.mp.mq_timeout": positive("mq_timeout_s", mode.mq_timeout_s),
        "lmcache.mp.heartbeat_interval": positive("heartbeat_s", mode.heartbeat_s),
    }
    if mode.transfer is Transfer.ENGINE_DRIVEN:
        extra["lmcache.mp.mp_transfer_mode"] = mode.transfer.value
    return {"kv_connector": "LMCacheMPConnector", **ROLE_AND_POLICY, "kv_connector_extra_config": extra}


def vllm_arguments(mode: MPMode) -> list[str]:
    """What ``vllm serve`` needs besides its model."""
    return ["--kv-transfer-config", compact(connector(mode))]


def compact(value: object) -> str:
    """JSON as one writes it on a command line."""
    return json.dumps(value, separators=(",", ":"))


def absolute(path: str) -> str:
    """``path``, if it is one absolute path; otherwise it is refused."""
    if not path.startswith("/") or "," in path:
        raise KvtiersError(f"disk_path must be one absolute path such as /mnt/nvme/lmcache, got {path!r}")
    return path
