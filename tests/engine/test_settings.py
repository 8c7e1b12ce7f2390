"""What we believe about settings against LMCache 0.5.6 and vLLM 0.32.0 themselves."""

from typing import Any

import pytest

from kvtiers.lint.setup import DEFAULTS
from kvtiers.lint.values import convert
from kvtiers.lint.yaml_nodes import documents
from kvtiers.settings import known
from kvtiers.settings.mp import Bucket, Drive, MPMode, Redis, Transfer, server_command
from kvtiers.settings.mp import connector as mp_connector
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Plan, Wiring, connector, lmcache_environment, lmcache_yaml, settings
from tests.engine.python import run_in_engine

pytestmark = pytest.mark.engine

KINDS = {
    "_to_bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "_to_hidden_states_retrieve_mode": "str",
    "_parse_local_disk": "path",
    "_to_int_list": "list",
    "_to_float_list": "list",
    "_to_str_list": "list",
}
IN_PROCESS = [wiring for wiring in Wiring if wiring.mode is LMCacheMode.IN_PROCESS]
PLANS = {wiring.value: Plan(wiring, "m", cpu_gib=12.5, disk_gib=33, chunk_tokens=512) for wiring in IN_PROCESS}

MODES = {
    "ram": MPMode(12.5),
    "drive": MPMode(2, Drive("/mnt/kv", direct_io=False), chunk_tokens=512, max_workers=4, port=7001, http_port=7002),
    "redis": MPMode(2, Redis("cache", 6380)),
    "bucket": MPMode(2, Bucket("s3://kv.s3.example.com", "eu-central-1", limit_gib=50)),
    "shared memory": MPMode(0.5, host="127.0.0.1", transfer=Transfer.AUTO, shm_name="kv"),
    "engine driven": MPMode(0.5, transfer=Transfer.ENGINE_DRIVEN, mq_timeout_s=20, heartbeat_s=2),
}

# setting -> values as people write them in YAML
WRITTEN = {
    "local_cpu": ["true", "True", "yes", "on", "off", '"yes"', '"true"', "1", "0", "TRUE", '"1"', "maybe"],
    "max_local_cpu_size": ["5", "5.0", "0.5", "'20'", "1e3", "20GB", "0x10"],
    "chunk_size": ["256", "'256'", "2_56", "0400", "many"],
    "local_disk": ["file:///mnt/a", "/mnt/a", "file:/mnt/a", "FILE:///mnt/a", "'file:///a, file:///b'", "rel/x", "~"],
    "remote_storage_plugins": ["[fs, redis]", "fs,redis", '["fs.one"]', "\n  - fs\n  - redis"],
    "extra_config": ['{"a": 1, "b": true}', "{a: 1, b: [x, y]}", "\n  use_odirect: true\n  n: 2", "'{\"a\": null}'"],
}


@pytest.fixture(scope="module")
def engine() -> dict[str, dict[str, Any]]:
    """Every answer, from one process."""
    cases: list[dict[str, Any]] = [{"name": "definitions", "job": "definitions"}]
    for name, plan in PLANS.items():
        values = settings(plan)
        cases.append({"name": f"file {name}", "job": "file", "text": lmcache_yaml(values)})
        cases.append({"name": f"environment {name}", "job": "environment", "environment": lmcache_environment(values)})
    for setting, written in WRITTEN.items():
        for index, value in enumerate(written):
            text = f"{setting}: {value}\n"
            cases.append({"name": f"written {setting} {index}", "job": "file", "text": text})
    for wiring in Wiring:
        plan = Plan(wiring, "m", cpu_gib=12.5)
        cases.append({"name": f"connector {wiring.value}", "job": "connector", "config": connector(plan)})
    for name, mode in MODES.items():
        cases.append({"name": f"server {name}", "job": "server", "arguments": server_command(mode)[2:]})
        cases.append({"name": f"mp connector {name}", "job": "mp_connector", "config": mp_connector(mode)})
    return run_in_engine("settings/load_settings.py", cases, timeout_s=120)


def test_every_setting_lmcache_knows_is_known_here_with_its_kind(engine: dict[str, dict[str, Any]]) -> None:
    converters = engine["definitions"]["converters"]
    theirs = {name: KINDS.get(converter) for name, converter in converters.items()}
    theirs |= {"extra_config": "json", "runtime_plugin_locations": "list"}
    assert known.kinds() == theirs


def test_old_names_and_defaults_are_lmcaches(engine: dict[str, dict[str, Any]]) -> None:
    said = engine["definitions"]
    assert known.renamed() == said["aliases"]
    assert known.still_read() == set(said["deprecated"]) & set(said["aliases"])
    assert {name: said["defaults"][name] for name in DEFAULTS} == DEFAULTS


def test_connectors_are_those_vllm_registers(engine: dict[str, dict[str, Any]]) -> None:
    assert known.connectors() == set(engine["definitions"]["connectors"])


def test_offloadings_keys_and_tiers_are_those_vllm_looks_up(engine: dict[str, dict[str, Any]]) -> None:
    said = engine["definitions"]
    tiers = {name: [*map(list, keys)] for name, keys in known.offloading_tiers().items()}
    assert set(tiers) == set(said["tiers"])
    assert {name: tiers[name] for name, keys in said["tiers"].items() if keys} == {
        name: keys for name, keys in said["tiers"].items() if keys
    }
    assert set(said["offloading_keys"]) <= known.offloading_keys()


def test_l2_adapters_are_those_lmcache_registers(engine: dict[str, dict[str, Any]]) -> None:
    assert known.l2_adapters() == set(engine["definitions"]["l2_adapters"])


def test_the_servers_options_are_its_parsers(engine: dict[str, dict[str, Any]]) -> None:
    taken = {option[2:] for option in engine["definitions"]["server_options"] if option.startswith("--")}
    assert known.server_options() == taken - {"help"}


@pytest.mark.parametrize("wiring", PLANS)
@pytest.mark.parametrize("form", ["file", "environment"])
def test_generated_settings_load_to_exactly_the_intended_values(
    wiring: str, form: str, engine: dict[str, dict[str, Any]]
) -> None:
    intended = dict(engine["definitions"]["defaults"]) | settings(PLANS[wiring])
    if intended["local_disk"]:
        intended["local_disk"] = PLANS[wiring].disk_path
    assert engine[f"{form} {wiring}"]["values"] == intended


@pytest.mark.parametrize(
    ("setting", "index"), [(setting, index) for setting, written in WRITTEN.items() for index in range(len(written))]
)
def test_values_are_read_as_lmcache_reads_them(setting: str, index: int, engine: dict[str, dict[str, Any]]) -> None:
    said = engine[f"written {setting} {index}"]
    (document,) = documents(f"{setting}: {WRITTEN[setting][index]}\n")
    try:
        ours = convert(setting, document.at(setting).plain())
    except ValueError:
        ours = None  # LMCache warns and goes on with None
    assert ours == said["values"][setting]


@pytest.mark.parametrize("wiring", Wiring)
def test_vllm_takes_every_generated_connector(wiring: Wiring, engine: dict[str, dict[str, Any]]) -> None:
    said = engine[f"connector {wiring.value}"]
    assert said.get("class", said) == connector(Plan(wiring, "m"))["kv_connector"]


@pytest.mark.parametrize("name", MODES)
def test_the_lmcache_server_reads_its_generated_command_as_it_is_meant(
    name: str, engine: dict[str, dict[str, Any]]
) -> None:
    said, mode = engine[f"server {name}"], MODES[name]
    assert "error" not in said, said
    shared = bool(mode.shm_name)
    assert said["server"] == {
        "host": mode.host,
        "port": mode.port,
        "http_host": mode.http_host,
        "http_port": mode.http_port,
        "chunk_size": mode.chunk_tokens,
        "max_workers": mode.max_workers,
        "supported_transfer_mode": mode.transfer,
        "shm_name": mode.shm_name,
    }
    assert said["l1_bytes"] == mode.l1_gib * 1024**3
    assert said["l1_grows"] is (False if shared else said["l1_grows"])
    l2 = mode.l2
    kinds = {Drive: "FSL2AdapterConfig", Redis: "RESPL2AdapterConfig", Bucket: "S3L2AdapterConfig"}
    bounded = getattr(l2, "limit_gib", None)
    kind = kinds.get(type(l2))
    assert [adapter["class"] for adapter in said["adapters"]] == ([kind] if kind else [])
    for adapter in said["adapters"]:
        assert adapter["evicts"] is bool(bounded)
        fields = adapter["fields"]
        match l2:
            case Drive():
                assert (fields["base_path"], fields["use_odirect"]) == (l2.path, l2.direct_io)
            case Redis():
                assert (fields["host"], fields["port"]) == (l2.host, l2.port)
            case Bucket():
                assert (fields["s3_endpoint"], fields["s3_region"]) == (l2.endpoint, l2.region)
        assert fields.get("max_capacity_gb") in ({bounded} if bounded else {None, 0})


@pytest.mark.parametrize("name", MODES)
def test_the_mp_connector_reads_its_generated_settings(name: str, engine: dict[str, dict[str, Any]]) -> None:
    said, mode = engine[f"mp connector {name}"], MODES[name]
    assert "error" not in said, said
    assert said["server_url"] == f"tcp://{mode.host}:{mode.port}"
    assert said["policy"] == "recompute"
    resolved = said["resolved"]
    assert (resolved["mq_timeout"], resolved["heartbeat_interval"]) == (mode.mq_timeout_s, mode.heartbeat_s)
    driven = mode.transfer is Transfer.ENGINE_DRIVEN
    assert resolved["mp_transfer_mode"] == ("engine_driven" if driven else "auto")
    assert said["unknown"] == []
