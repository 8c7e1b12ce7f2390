"""Inputs of every kind are read as the deployment they describe; good ones stay silent."""

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.lint import Source, lint
from lab.cli import app
from tests.core.lint.builders import COMPOSE, DISK, GOOD, HASH, KUBERNETES, SERVE, ids


@pytest.mark.parametrize("name", GOOD)
def test_no_false_alarm(name: str) -> None:
    assert lint([Source(name, GOOD[name])]) == []


def test_the_labs_own_command_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["run", "--engine", "cpu", "--dry-run"])
    assert ended.value.code == 0
    assert ids(capsys.readouterr().out, "dry-run.sh") == []


def test_files_are_one_deployment() -> None:
    yaml = Source("lmcache.yaml", HASH + DISK + "remote_storage_plugins: [redis]\n")
    script = Source("serve.sh", f"LMCACHE_CONFIG_FILE=lmcache.yaml {SERVE}")
    assert [finding.id for finding in lint([script, yaml])] == ["hashseed_unset"]
    assert lint([script, yaml, Source(".env", "PYTHONHASHSEED=0\n")]) == []


def test_each_service_of_a_compose_file_is_a_server_of_its_own() -> None:
    text = COMPOSE.replace("127.0.0.1:8000:8000", "8000:8000").replace(
        "LMCACHE_LOCAL_CPU: true", 'LMCACHE_LOCAL_CPU: "on"'
    )
    assert [(finding.id, finding.line) for finding in lint([Source("compose.yaml", text)])] == [
        ("bool_reads_false", 10),
        ("api_open", 14),
    ]


def test_a_kubernetes_container_is_a_server_of_its_own() -> None:
    text = KUBERNETES.replace('"True"', '"yes"').replace("kv_both", "kv_consumer")
    assert [(finding.id, finding.line) for finding in lint([Source("deployment.yaml", text)])] == [
        ("kv_role_one_way", 17),
        ("bool_reads_false", 19),
    ]


def test_yaml_about_something_else_is_refused_not_judged() -> None:
    with pytest.raises(KvtiersError, match="neither LMCache's settings nor services"):
        lint([Source("values.yaml", "replicas: 3\ningress:\n  enabled: true\n")])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# ours\nFROM vllm/vllm-openai:v0.32.0\nENV LMCACHE_LOCAL_CPU=yes\n", "Dockerfile"),
        ("[Unit]\nDescription=x\n[Service]\nEnvironment=LMCACHE_LOCAL_CPU=yes\nExecStart=vllm serve m\n", "systemd"),
        ("from vllm import LLM\nLLM(model='m')\n", "Python"),
    ],
)
def test_what_only_looks_like_shell_is_refused_not_judged(text: str, kind: str) -> None:
    with pytest.raises(KvtiersError, match=rf"paste, line \d: .*{kind}"):
        lint([Source("paste", text)])


def test_a_shell_inside_a_command_is_read() -> None:
    assert ids(f"""bash -c "{SERVE.replace('"', chr(92) + '"')} --no-enable-prefix-caching\"""") == [
        "prefix_caching_off"
    ]
