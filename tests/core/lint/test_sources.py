"""Inputs of every kind are read as the deployment they describe; good ones stay silent."""

import re

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.lint import Source, lint, report
from lab.cli import app
from tests.core.lint.builders import COMPOSE, DISK, GOOD, GOOD_JSON, HASH, KUBERNETES, SERVE, faults, ids


@pytest.mark.parametrize("name", GOOD)
def test_no_false_alarm(name: str) -> None:
    assert ids(GOOD[name], name) == []


def test_the_labs_own_command_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["run", "--engine", "cpu", "--dry-run"])
    assert ended.value.code == 0
    assert ids(capsys.readouterr().out, "dry-run.sh") == []


def test_files_are_one_deployment() -> None:
    yaml = Source("lmcache.yaml", HASH + DISK + "remote_storage_plugins: [redis]\n")
    script = Source("serve.sh", f"LMCACHE_CONFIG_FILE=lmcache.yaml {SERVE}")
    assert [name for name, _ in faults(script, yaml)] == ["hashseed_unset"]
    assert faults(script, yaml, Source(".env", "PYTHONHASHSEED=0\n")) == []


def test_each_service_of_a_compose_file_is_a_server_of_its_own() -> None:
    text = COMPOSE.replace("127.0.0.1:8000:8000", "8000:8000").replace(
        "LMCACHE_LOCAL_CPU: true", 'LMCACHE_LOCAL_CPU: "on"'
    )
    assert faults(Source("compose.yaml", text)) == [
        ("bool_reads_false", 10),
        ("api_open", 14),
    ]


def test_a_kubernetes_container_is_a_server_of_its_own() -> None:
    text = KUBERNETES.replace('"True"', '"yes"').replace("kv_both", "kv_consumer")
    assert faults(Source("deployment.yaml", text)) == [
        ("kv_role_one_way", 17),
        ("bool_reads_false", 19),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "replicas: 3\ningress:\n  enabled: true\n",
        "global: {scrape_interval: 15s}\nscrape_configs: []\n",
        "chunk_size: 512\nchunk_overlap: 64\nembedding_model: bge\n",
        "host: 0.0.0.0\nport: 8080\nlog_level: info\n",
        "model: gpt-4o\ntemperature: 0.2\nmax_tokens: 100\n",
        "model: resnet\nseed: 1\ndtype: float32\noptimizer: adam\n",
    ],
)
def test_yaml_about_something_else_is_refused_not_judged(text: str) -> None:
    with pytest.raises(KvtiersError, match="neither LMCache's or vLLM's settings"):
        lint([Source("values.yaml", text)])


def test_what_a_script_writes_about_something_else_does_not_take_the_script_along() -> None:
    text = f"cat > prometheus.yml <<EOF\nglobal: {{}}\nscrape_configs: []\nEOF\n{SERVE} --no-enable-prefix-caching\n"
    checked = report([Source("up.sh", text)])
    assert [one.id for one in checked.findings if one.certain] == ["prefix_caching_off"]
    assert [name for name, _ in checked.given.skipped] == ["up.sh (prometheus.yml)"]


def test_compose_may_be_handed_its_file() -> None:
    assert ids(f"docker compose -f - up <<EOF\n{COMPOSE.replace('CPU: true', 'CPU: oui')}\nEOF\n", "up.sh") == [
        "bool_reads_false"
    ]


@pytest.mark.parametrize("name", ["lmcache-prod.yaml", "conf/kv.yaml"])
def test_a_file_of_lmcaches_is_known_by_its_name_or_by_who_names_it(name: str) -> None:
    script = Source("serve.sh", f"export PYTHONHASHSEED=0 LMCACHE_CONFIG_FILE=/etc/{name}\n{SERVE}")
    given = report([Source(name, "chunk_size: 100\nours: 1\ntheirs: 2\n"), script])
    assert [one.id for one in given.findings if one.certain] == ["chunk_not_multiple", "unknown_key", "unknown_key"]


def test_a_shell_inside_a_command_is_read() -> None:
    assert ids(f"""bash -c "{SERVE.replace('"', chr(92) + '"')} --no-enable-prefix-caching\"""") == [
        "prefix_caching_off"
    ]


WRITTEN_FREELY = f"""---
x-cache: &cache
  LMCACHE_LOCAL_CPU: "on"
x-hash: &hash {{LMCACHE_PRE_CACHING_HASH_ALGORITHM: sha256, PYTHONHASHSEED: 0}}
services:
  vllm:
    image: vllm/vllm-openai:v0.32.0
    environment:
      <<: [*cache, *hash]
    command: --model Qwen/Qwen3-8B
      --host 0.0.0.0
      --kv-transfer-config '{GOOD_JSON}'
    ports: ["127.0.0.1:8000:8000", # not to the world
            "8001:8000"]                # [but this]
"""


def test_yaml_is_taken_as_freely_as_yaml_allows() -> None:
    """Merged lists, plain text over several lines, comments in brackets; as a paste, without a file's name."""
    assert faults(Source("paste", WRITTEN_FREELY)) == [
        ("bool_reads_false", 3),
        ("api_open", 10),
    ]


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("local_cpu: true\nextra_config: " + "[" * 1000, "a.yaml, line 2: nested more than"),
        (BOMB, "a.yaml, line 1: more than"),
        ("local_cpu: true\nlocal_disk: {{ .Values.disk }}\n", "a.yaml, line 2: a template"),
        ("cat > b.yaml <<EOF\nlocal_cpu: true\nlocal_disk: [\nEOF\n", "a.sh (b.yaml), line 3: "),
    ],
    ids=["deep", "bomb", "template", "here-document"],
)
def test_bad_yaml_is_refused_with_its_place(text: str, message: str) -> None:
    name = "a.sh" if text.startswith("cat") else "a.yaml"
    with pytest.raises(KvtiersError, match=f"^{re.escape(message)}"):
        lint([Source(name, text)])
