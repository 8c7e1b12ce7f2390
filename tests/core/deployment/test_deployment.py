"""Whatever ``plan --as`` writes is read by who has to read it: YAML, the schemas of Kubernetes and of the compose
specification, our own linter."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from kvtiers.__main__ import main
from kvtiers.deployment import Form, files_of
from kvtiers.deployment.yaml_text import to_yaml
from kvtiers.errors import KvtiersError
from kvtiers.lint import Facts, Source, lint
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Plan, Platform, Wiring, engine_command
from lab.paths import REPOSITORY

EXAMPLES = REPOSITORY / "deploy"
COMMANDS = [
    line for line in (EXAMPLES / "README.md").read_text().splitlines() if line.startswith("python -m kvtiers plan")
]
MP = [wiring for wiring in Wiring if wiring.mode is LMCacheMode.MP]
# The schema of the compose specification (Apache-2.0) as compose-spec/compose-spec has it at 170098ba.
COMPOSE = Draft7Validator(json.loads((REPOSITORY / "tests" / "core" / "data" / "compose-spec.json").read_text()))
FACTS = Facts(prefix_tokens=32_768, kv_bytes_per_token=147_456, drive_gib=800)


def plan(wiring: Wiring = Wiring.MP_DRIVE, **changes: Any) -> Plan:
    return Plan(wiring, "Qwen/Qwen3-8B", max_model_len=32_768, **changes)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split("--as ")[1].split()[0])
def test_each_example_is_what_its_command_writes(command: str, tmp_path: Path) -> None:
    *words, directory = shlex.split(command)[3:]
    assert main([*words, str(tmp_path)]) == 0
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in (REPOSITORY / directory).iterdir()}


@pytest.mark.parametrize("wiring", [wiring for wiring in Wiring if wiring is not Wiring.MP_REDIS])
@pytest.mark.parametrize("ranks", [1, 4])
def test_manifests_are_kubernetes_to_the_letter(wiring: Wiring, ranks: int) -> None:
    text = files_of(plan(wiring, tensor_parallel=ranks), Form.K8S)["kubernetes.yaml"]
    for manifest in yaml.safe_load_all(text):
        kubernetes_validate.validate(manifest, "1.34", strict=True)


@pytest.mark.parametrize("wiring", Wiring)
@pytest.mark.parametrize("ranks", [1, 4])
def test_compose_files_are_the_specification_to_the_letter(wiring: Wiring, ranks: int) -> None:
    written = yaml.safe_load(files_of(plan(wiring, tensor_parallel=ranks), Form.COMPOSE)["compose.yaml"])
    COMPOSE.validate(written)
    written["services"]["vllm"]["image_name"] = "a key that no service has"
    assert not COMPOSE.is_valid(written)


@pytest.mark.parametrize("wiring", MP)
@pytest.mark.parametrize("form", Form)
def test_our_own_linter_finds_nothing_to_put_right(wiring: Wiring, form: Form) -> None:
    if (wiring, form) == (Wiring.MP_REDIS, Form.K8S):
        with pytest.raises(KvtiersError, match="a service of its own, with a password"):
            files_of(plan(wiring), form)
        return
    sources = [Source(name, text) for name, text in files_of(plan(wiring), form).items()]
    assert [finding.id for finding in lint(sources, FACTS) if finding.certain] == []


@pytest.mark.parametrize("form", Form)
def test_a_store_that_runs_elsewhere_is_not_started_here(form: Form) -> None:
    text = "".join(files_of(plan(Wiring.MP_REDIS, redis_url="redis://cache.internal:6380"), form).values())
    assert ("cache.internal" in text, "valkey-server" in text) == (True, False)


@pytest.mark.parametrize("wiring", Wiring)
def test_a_unit_starts_the_very_command(wiring: Wiring) -> None:
    unit = files_of(plan(wiring), Form.SYSTEMD)["kvtiers-vllm.service"]
    line = unit.split("ExecStart=")[1].split("\nRestart")[0].replace("\\\n", " ")
    command = engine_command(plan(wiring))
    assert shlex.split(line)[: len(command) + 1] == ["/usr/bin/env", *command]


def test_the_server_is_away_until_every_engine_has_noticed() -> None:
    units = files_of(plan(), Form.SYSTEMD)
    (heartbeat,) = re.findall(r'heartbeat_interval":([\d.]+)', units["kvtiers-vllm.service"])
    (waits,) = re.findall(r"RestartSec=(\d+)", units["kvtiers-lmcache.service"])
    assert float(waits) > 2 * float(heartbeat)


def test_images_are_of_the_version_that_is_run() -> None:
    assert "lmcache/standalone:v0.5.4" in files_of(plan(), Form.COMPOSE, "0.5.4")["compose.yaml"]


def test_no_container_is_made_up_for_a_cpu() -> None:
    with pytest.raises(KvtiersError, match="use --as systemd"):
        files_of(plan(platform=Platform.CPU), Form.COMPOSE)


def test_a_file_that_says_something_else_is_not_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "compose.yaml").write_text("mine")
    words = shlex.split(COMMANDS[0])[3:-1]
    assert main([*words, str(tmp_path)]) != 0
    assert "is there already and says something else" in capsys.readouterr().err
    assert (tmp_path / "compose.yaml").read_text() == "mine"


_TEXTS = st.text("ab-:# 1ytruen'\"{[,&*!|>%@`\\快")
_TREES = st.recursive(
    _TEXTS | st.integers() | st.booleans() | st.none(),
    lambda tree: st.lists(tree) | st.dictionaries(_TEXTS, tree),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "on", "1"]), _TREES))
def test_yaml_reads_back_what_was_written(value: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(value)) == value
