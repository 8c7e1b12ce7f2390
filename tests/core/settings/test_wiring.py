import json
import shlex

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.settings.wiring import (
    Plan,
    Wiring,
    exports,
    lmcache_environment,
    lmcache_yaml,
    server_command,
    settings,
    vllm_command,
)


@pytest.mark.parametrize("wiring", Wiring)
def test_environment_and_yaml_say_the_same(wiring: Wiring) -> None:
    values = settings(Plan(wiring, "m"))
    environment = lmcache_environment(values)
    assert [f"LMCACHE_{line.split(':')[0].upper()}" for line in lmcache_yaml(values).splitlines()] == list(environment)
    for line in lmcache_yaml(values).splitlines():
        key, _, written = line.partition(": ")
        assert json.loads(written) == values[key]


@pytest.mark.parametrize("wiring", [wiring for wiring in Wiring if wiring.in_process])
def test_every_wiring_pins_a_hash_that_is_the_same_in_every_process(wiring: Wiring) -> None:
    assert settings(Plan(wiring, "m"))["pre_caching_hash_algorithm"] == "sha256"


@pytest.mark.parametrize("wiring", [Wiring.CPU_SSD, Wiring.SSD_DEMO])
def test_a_disk_tier_has_a_limit_and_a_file_uri(wiring: Wiring) -> None:
    values = settings(Plan(wiring, "m", disk_gib=50, disk_path="/mnt/nvme"))
    assert values["max_local_disk_size"] == 50
    assert values["local_disk"] == "file:///mnt/nvme"


def test_booleans_are_written_so_that_lmcache_reads_them() -> None:
    assert lmcache_environment(settings(Plan(Wiring.SSD_DEMO, "m")))["LMCACHE_LOCAL_CPU"] == "false"
    assert lmcache_environment(settings(Plan(Wiring.CPU, "m")))["LMCACHE_LOCAL_CPU"] == "true"


def test_the_command_survives_the_shell() -> None:
    words = [word for word in shlex.split(vllm_command(Plan(Wiring.CPU, "a model's name"))) if word != "\n"]
    assert words[:3] == ["vllm", "serve", "a model's name"]
    assert json.loads(words[-1]) == {
        "kv_connector": "LMCacheConnectorV1",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }


def test_mp_mode_has_its_own_server_and_no_settings_in_the_engine() -> None:
    plan = Plan(Wiring.MP_SERVER, "m", cpu_gib=8, disk_path="/mnt/kv")
    assert settings(plan) == {}
    assert json.loads(shlex.split(vllm_command(plan))[-1])["kv_connector"] == "LMCacheMPConnector"
    command = server_command(plan)
    assert command is not None
    words = shlex.split(command)
    assert words[words.index("--l1-size-gb") + 1] == "8"
    assert json.loads(words[-1]) == {"type": "fs", "base_path": "/mnt/kv"}


def test_vllms_own_tiers_count_bytes() -> None:
    plan = Plan(Wiring.VLLM_TIERING, "m", cpu_gib=2, disk_path="/mnt/kv")
    extra = json.loads(shlex.split(vllm_command(plan))[-1])["kv_connector_extra_config"]
    assert extra["cpu_bytes_to_use"] == 2 * 1024**3
    assert extra["secondary_tiers"] == [{"type": "fs", "root_dir": "/mnt/kv"}]


def test_exports_survive_the_shell() -> None:
    assert shlex.split(exports({"NAME": '{"a b": "$HOME"}'})) == ["export", 'NAME={"a b": "$HOME"}']


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        (Plan(Wiring.CPU_SSD, "m", disk_gib=0), "disk_gib"),
        (Plan(Wiring.CPU, "m", cpu_gib=0), "cpu_gib"),
        (Plan(Wiring.DIRECTORY, "m", disk_path="cache"), "disk_path"),
        (Plan(Wiring.SSD_DEMO, "m", disk_path="/a,/b"), "disk_path"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(plan: Plan, field: str) -> None:
    with pytest.raises(KvtiersError, match=field):
        settings(plan)
