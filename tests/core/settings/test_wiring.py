import json
import shlex

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.settings.mp import Bucket, Drive, Redis, Transfer
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import (
    Plan,
    Platform,
    Wiring,
    engine_command,
    engine_environment,
    exports,
    lmcache_environment,
    lmcache_yaml,
    mp_mode,
    settings,
    shell,
)

IN_PROCESS = [wiring for wiring in Wiring if wiring.mode is LMCacheMode.IN_PROCESS]


@pytest.mark.parametrize("wiring", Wiring)
def test_environment_and_yaml_say_the_same(wiring: Wiring) -> None:
    values = settings(Plan(wiring, "m"))
    environment = lmcache_environment(values)
    assert [f"LMCACHE_{line.split(':')[0].upper()}" for line in lmcache_yaml(values).splitlines()] == list(environment)
    for line in lmcache_yaml(values).splitlines():
        key, _, written = line.partition(": ")
        assert json.loads(written) == values[key]


@pytest.mark.parametrize("wiring", IN_PROCESS)
def test_every_wiring_pins_a_hash_that_is_the_same_in_every_process(wiring: Wiring) -> None:
    assert settings(Plan(wiring, "m"))["pre_caching_hash_algorithm"] == "sha256"


@pytest.mark.parametrize("wiring", [Wiring.IN_PROCESS_DISK, Wiring.IN_PROCESS_DISK_ONLY])
def test_a_disk_tier_has_a_limit_and_a_file_uri(wiring: Wiring) -> None:
    values = settings(Plan(wiring, "m", disk_gib=50, disk_path="/mnt/nvme"))
    assert values["max_local_disk_size"] == 50
    assert values["local_disk"] == "file:///mnt/nvme"


def test_booleans_are_written_so_that_lmcache_reads_them() -> None:
    assert lmcache_environment(settings(Plan(Wiring.IN_PROCESS_DISK_ONLY, "m")))["LMCACHE_LOCAL_CPU"] == "false"
    assert lmcache_environment(settings(Plan(Wiring.IN_PROCESS_RAM, "m")))["LMCACHE_LOCAL_CPU"] == "true"


def test_the_command_survives_the_shell() -> None:
    command = ["vllm", "serve", "a model's --name", "--kv", '{"a": "--b"}']
    assert shlex.split(shell(command).replace("\\\n", "")) == command


@pytest.mark.parametrize("wiring", Wiring)
def test_a_lost_chunk_is_computed_again(wiring: Wiring) -> None:
    config = json.loads(engine_command(Plan(wiring, "m"))[-1])
    assert (config["kv_role"], config["kv_load_failure_policy"]) == ("kv_both", "recompute")


def test_in_process_sizes_are_each_workers_share() -> None:
    values = settings(Plan(Wiring.IN_PROCESS_DISK, "m", cpu_gib=64, disk_gib=384, tensor_parallel=4))
    assert (values["max_local_cpu_size"], values["max_local_disk_size"]) == (16, 96)


@pytest.mark.parametrize(
    ("wiring", "l2"),
    [
        (Wiring.MP_RAM, None),
        (Wiring.MP_DRIVE, Drive("/mnt/kv")),
        (Wiring.MP_REDIS, Redis("cache", 6380)),
        (Wiring.MP_S3, Bucket("s3://kv.s3.example.com", "eu-central-1", limit_gib=50)),
    ],
)
def test_mp_mode_has_its_own_server_and_no_settings_in_the_engine(
    wiring: Wiring, l2: Drive | Redis | Bucket | None
) -> None:
    plan = Plan(
        wiring,
        "m",
        cpu_gib=8,
        disk_gib=50,
        disk_path="/mnt/kv",
        redis_url="redis://cache:6380",
        s3_url="s3://kv.s3.example.com",
        tensor_parallel=2,
    )
    mode = mp_mode(plan)
    assert mode is not None
    assert (settings(plan), engine_environment(plan)) == ({}, {})
    assert (mode.l1_gib, mode.l2, mode.max_workers) == (8, l2, 2)
    assert json.loads(engine_command(plan)[-1])["kv_connector"] == "LMCacheMPConnector"


@pytest.mark.parametrize(
    ("platform", "transfer"),
    [
        (Platform.CUDA, Transfer.LMCACHE_DRIVEN),
        (Platform.WSL2, Transfer.ENGINE_DRIVEN),
        (Platform.CPU, Transfer.AUTO),
    ],
)
def test_without_cuda_ipc_the_engine_copies_through_shared_memory(platform: Platform, transfer: Transfer) -> None:
    mode = mp_mode(Plan(Wiring.MP_RAM, "m", platform=platform))
    assert mode is not None
    assert (mode.transfer, bool(mode.shm_name)) == (transfer, platform is not Platform.CUDA)


@pytest.mark.parametrize("chosen", Wiring)
@pytest.mark.parametrize("platform", Platform)
def test_in_wsl2_an_engine_is_told_to_pin_memory(chosen: Wiring, platform: Platform) -> None:
    pinned = engine_environment(Plan(chosen, "m", platform=platform)).get("VLLM_WSL2_ENABLE_PIN_MEMORY")
    assert pinned == ("1" if platform is Platform.WSL2 else None)


def test_vllms_own_tiers_count_bytes() -> None:
    plan = Plan(Wiring.VLLM_TIERING, "m", cpu_gib=2, disk_path="/mnt/kv")
    extra = json.loads(engine_command(plan)[-1])["kv_connector_extra_config"]
    assert extra["cpu_bytes_to_use"] == 2 * 1024**3
    assert extra["secondary_tiers"] == [{"type": "fs", "root_dir": "/mnt/kv"}]


@pytest.mark.parametrize("url", ["localhost:6379", "redis://:secret@cache", "http://cache", "redis://cache:port"])
def test_redis_is_a_host_and_credentials_stay_out(url: str) -> None:
    with pytest.raises(KvtiersError, match="redis_url"):
        mp_mode(Plan(Wiring.MP_REDIS, "m", redis_url=url))


def test_exports_survive_the_shell() -> None:
    assert shlex.split(exports({"NAME": '{"a b": "$HOME"}'})) == ["export", 'NAME={"a b": "$HOME"}']


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        (Plan(Wiring.IN_PROCESS_DISK, "m", disk_gib=0), "disk_gib"),
        (Plan(Wiring.IN_PROCESS_RAM, "m", cpu_gib=0), "cpu_gib"),
        (Plan(Wiring.IN_PROCESS_DIRECTORY, "m", disk_path="cache"), "disk_path"),
        (Plan(Wiring.IN_PROCESS_DISK_ONLY, "m", disk_path="/a,/b"), "disk_path"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(plan: Plan, field: str) -> None:
    with pytest.raises(KvtiersError, match=field):
        settings(plan)
