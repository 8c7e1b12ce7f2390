"""What we believe about settings against LMCache 0.5.6 and vLLM 0.32.0 themselves."""

import shlex
from typing import Any

import pytest

from kvtiers.lint.setup import DEFAULTS, convert
from kvtiers.lint.yaml_nodes import documents
from kvtiers.settings import known
from kvtiers.settings.wiring import Plan, Wiring, connector, lmcache_environment, lmcache_yaml, server_command, settings
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
IN_PROCESS = [wiring for wiring in Wiring if wiring.in_process]
PLANS = {wiring.value: Plan(wiring, "m", cpu_gib=12.5, disk_gib=33, chunk_tokens=512) for wiring in IN_PROCESS}

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
    command = (server_command(Plan(Wiring.MP_SERVER, "m", cpu_gib=12.5)) or "").replace("\\\n", "")
    words = shlex.split(command)
    cases.append({"name": "server", "job": "server", "arguments": words[2:]})
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
        ours = convert(setting, document.value[setting])
    except ValueError:
        ours = None  # LMCache warns and goes on with None
    assert ours == said["values"][setting]


@pytest.mark.parametrize("wiring", Wiring)
def test_vllm_takes_every_generated_connector(wiring: Wiring, engine: dict[str, dict[str, Any]]) -> None:
    said = engine[f"connector {wiring.value}"]
    assert said.get("class", said) == connector(Plan(wiring, "m"))["kv_connector"]


def test_the_lmcache_server_takes_its_generated_command(engine: dict[str, dict[str, Any]]) -> None:
    said = engine["server"]
    assert "error" not in said, said
    assert (said["l1_size_gb"], said["adapters"]) == (12.5, ["FSL2AdapterConfig"])
