import json

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.settings.mp import Bucket, Drive, MPMode, Redis, Transfer, connector, server_command, vllm_arguments


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def adapter(mode: MPMode) -> dict[str, object]:
    return dict(json.loads(option(server_command(mode), "--l2-adapter")))


def test_server_and_engine_agree_on_the_address() -> None:
    mode = MPMode(l1_gib=8, host="127.0.0.1", port=7001, http_port=7002)
    command = server_command(mode)
    extra = connector(mode)["kv_connector_extra_config"]
    assert (option(command, "--host"), option(command, "--port")) == ("127.0.0.1", "7001")
    assert (extra["lmcache.mp.host"], extra["lmcache.mp.port"]) == ("tcp://127.0.0.1", 7001)
    assert (option(command, "--http-host"), option(command, "--http-port")) == ("127.0.0.1", "7002")


def test_a_dead_server_costs_seconds_and_a_lost_chunk_no_request() -> None:
    config = connector(MPMode(l1_gib=8))
    extra = config["kv_connector_extra_config"]
    assert config["kv_load_failure_policy"] == "recompute"
    assert (extra["lmcache.mp.mq_timeout"], extra["lmcache.mp.heartbeat_interval"]) == (30, 5)


def test_a_drive_is_a_directory() -> None:
    assert adapter(MPMode(8, Drive("/mnt/kv"))) == {"type": "fs", "base_path": "/mnt/kv", "use_odirect": True}


def test_remote_tiers_are_named_as_the_server_names_them() -> None:
    assert adapter(MPMode(8, Redis("cache", 6380))) == {"type": "resp", "host": "cache", "port": 6380}
    bucket = adapter(MPMode(8, Bucket("s3://kv.s3.example.com", "eu-central-1", limit_gib=100)))
    assert (bucket["s3_endpoint"], bucket["max_capacity_gb"]) == ("s3://kv.s3.example.com", 100)
    assert bucket["eviction"] == {"eviction_policy": "LRU"}
    assert "--l2-adapter" not in server_command(MPMode(8))


def test_shared_memory_is_of_a_pool_that_does_not_grow() -> None:
    command = server_command(MPMode(0.5, transfer=Transfer.AUTO, shm_name="kv"))
    assert option(command, "--supported-transfer-mode") == "auto"
    assert option(command, "--shm-name") == "kv"
    assert "--no-l1-use-lazy" in command


def test_an_engine_that_must_drive_is_told_too() -> None:
    mode = MPMode(8, transfer=Transfer.ENGINE_DRIVEN)
    (_, written) = vllm_arguments(mode)
    assert json.loads(written)["kv_connector_extra_config"]["lmcache.mp.mp_transfer_mode"] == "engine_driven"
    assert option(server_command(mode), "--supported-transfer-mode") == "engine_driven"


@pytest.mark.parametrize(
    ("mode", "field"),
    [
        (MPMode(0), "l1_gib"),
        (MPMode(8, max_workers=0), "max_workers"),
        (MPMode(8, chunk_tokens=0), "chunk_tokens"),
        (MPMode(8, Drive("cache")), "disk_path"),
        (MPMode(8, Bucket("s3://kv.s3.example.com", "eu-central-1", limit_gib=0)), "limit_gib"),
        (MPMode(8, shm_name="kv"), "shm_name"),
    ],
)
def test_what_cannot_work_is_refused_by_name(mode: MPMode, field: str) -> None:
    with pytest.raises(KvtiersError, match=field):
        server_command(mode)
