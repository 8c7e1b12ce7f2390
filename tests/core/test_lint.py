"""Each rule from a small input as people write it; good configurations stay silent; secrets stay unsaid."""

import io
import json
import re
import string
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.lint import Facts, Finding, Source, lint
from kvtiers.lint.findings import RULES
from kvtiers.words import LANGUAGES, all_texts
from lab.cli import app

GOOD_JSON = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_load_failure_policy":"recompute"}'
SERVE = f"vllm serve Qwen/Qwen3-8B --kv-transfer-config '{GOOD_JSON}'"
HASH = "pre_caching_hash_algorithm: sha256\n"
DISK = "local_disk: file:///mnt/nvme/kv\nmax_local_disk_size: 50\n"
FUZZ_DEADLINE = timedelta(seconds=3)  # one input; the machine may be busy


def serve(**changes: object) -> str:
    return f"vllm serve m --kv-transfer-config '{json.dumps(json.loads(GOOD_JSON) | changes)}'"


def ids(text: str, name: str = "paste", facts: Facts | None = None) -> list[str]:
    return [finding.id for finding in lint([Source(name, text)], facts)]


PREFIX = Facts(prefix_tokens=32_768, kv_bytes_per_token=131_072)
MOUNTS = Facts(mounts="/dev/vda / ext4 rw 0 0\ntmpfs /fast tmpfs rw 0 0\n/dev/nvme0n1 /mnt/nvme xfs rw 0 0\n")

# rule -> (input, facts, line of the finding)
CASES: dict[str, list[tuple[str, Facts | None, int]]] = {
    "legacy_connector": [(serve(kv_connector="LMCacheConnector"), None, 1)],
    "unknown_connector": [(serve(kv_connector="LMCacheConectorV1"), None, 1)],
    "no_connector": [
        ("export LMCACHE_LOCAL_CPU=true LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nvllm serve m", None, 2)
    ],
    "plain_server": [("docker run --gpus all vllm/vllm-openai:v0.32.0 --model m", None, 1)],
    "kv_role": [(serve(kv_role="both"), None, 1), (serve(kv_role=None), None, 1)],
    "kv_role_one_way": [(serve(kv_role="kv_producer"), None, 1), (serve(kv_role="kv_consumer"), None, 1)],
    "kv_transfer_json": [
        (f"vllm serve m \\\n  --kv-transfer-config {GOOD_JSON}", None, 2),
        (f'vllm serve m --kv-transfer-config "{GOOD_JSON}"', None, 1),
        ("vllm serve m --kv-transfer-config '[]'", None, 1),
    ],
    "load_failure_fail": [
        ("""vllm serve m --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'""", None, 1),
        (
            "vllm serve m --kv-transfer-config.kv_connector LMCacheConnectorV1 --kv-transfer-config.kv_role kv_both",
            None,
            1,
        ),
    ],
    "disk_without_limit": [
        (f"{HASH}local_disk: file:///mnt/nvme/kv\n", None, 2),
        (f"{HASH}local_disk: /mnt/nvme/kv\nmax_local_disk_size: 0\n", None, 3),
    ],
    "limit_without_disk": [
        (f"export LMCACHE_MAX_LOCAL_DISK_SIZE=5 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\n{SERVE}", None, 1)
    ],
    "disk_volatile": [
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: /tmp/lmcache\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: file:///dev/shm/kv\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: /fast/kv\n", MOUNTS, 3),
    ],
    "disk_on_system_drive": [(f"{HASH}max_local_disk_size: 5\nlocal_disk: /var/lib/kv\n", MOUNTS, 3)],
    "disk_uri": [
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: file:/mnt/nvme/kv\n", None, 3),
        (f"{HASH}max_local_disk_size: 5\nlocal_disk: FILE:///mnt/nvme/kv\n", None, 3),
    ],
    "disk_relative": [(f"{HASH}max_local_disk_size: 5\nlocal_disk: file://mnt/kv\n", None, 3)],
    "disk_larger_than_drive": [
        (HASH + DISK, Facts(drive_gib=40), 3),
        (
            f"export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_LOCAL_DISK=/mnt/n/kv\n"
            f"export LMCACHE_MAX_LOCAL_DISK_SIZE=30\n{SERVE} --tensor-parallel-size 2",
            Facts(drive_gib=40),
            3,
        ),
    ],
    "value_type": [
        (f"{HASH}chunk_size: many\n", None, 2),
        (f"{HASH}max_local_cpu_size: 20GB\n", None, 2),
        (f"{HASH}local_cpu: maybe\n", None, 2),
        ("LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nLMCACHE_EXTRA_CONFIG={use_odirect: true}\n", None, 2),
    ],
    "bool_reads_false": [
        ("LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nLMCACHE_LOCAL_CPU=yes\n", None, 2),
        (f'{HASH}local_cpu: "on"\n', None, 2),
    ],
    "staging_zero": [(f"{HASH}{DISK}max_local_cpu_size: 0\n", None, 4)],
    "staging_too_small": [(f"{HASH}{DISK}local_cpu: false\nmax_local_cpu_size: 2\n", PREFIX, 5)],
    "hash_builtin": [("chunk_size: 256\n", None, 1), ("pre_caching_hash_algorithm: builtin\n", None, 1)],
    "hash_unknown": [("pre_caching_hash_algorithm: sha265\n", None, 1)],
    "hashseed_unset": [
        (
            "export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_REMOTE_STORAGE_PLUGINS=redis\n" + SERVE,
            None,
            2,
        )
    ],
    "chunk_not_multiple": [
        (f"{HASH}chunk_size: 100\n", None, 2),
        (f"export LMCACHE_CHUNK_SIZE=256 LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\n{SERVE} --block-size 96", None, 1),
    ],
    "chunk_larger_than_prefix": [(f"{HASH}chunk_size: 4096\n", Facts(prefix_tokens=2000), 2)],
    "file_and_variables": [
        (f"export LMCACHE_CONFIG_FILE=/etc/lmcache.yaml\nexport LMCACHE_CHUNK_SIZE=256\n{SERVE}", None, 1)
    ],
    "file_and_variables_differ": [
        (
            "cat > lmcache.yaml <<EOF\nchunk_size: 256\npre_caching_hash_algorithm: sha256\nEOF\n"
            f"export LMCACHE_CONFIG_FILE=lmcache.yaml\nexport LMCACHE_CHUNK_SIZE=512\n{SERVE}",
            None,
            5,
        )
    ],
    "unknown_key": [
        (f"{HASH}max_local_disc_size: 5\n", None, 2),
        (f"{HASH}enable_xpyd: true\n", None, 2),
        (f"export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256\nexport LMCACHE_CHUNKSIZE=256\n{SERVE}", None, 2),
        (
            serve(
                kv_connector_extra_config={"lmcache.pre_caching_hash_algorithm": "sha256", "lmcache.local_dsik": "x"}
            ),
            None,
            1,
        ),
    ],
    "renamed_key": [(f"{HASH}external_backends: [a]\n", None, 2)],
    "remote_scheme": [(f"{HASH}remote_url: rediz://h:6379\n", None, 2), (f"{HASH}remote_url: h:6379\n", None, 2)],
    "remote_fs_url": [(f"{HASH}remote_url: fs:///mnt/kv\n", None, 2)],
    "remote_url_deprecated": [(f"{HASH}remote_url: redis://h:6379\n", None, 2)],
    "remote_plugin": [(f"{HASH}remote_storage_plugins: [s3]\n", None, 2)],
    "prefix_caching_off": [(SERVE + " --no-enable-prefix-caching", None, 1)],
    "mp_ignores_settings": [("export LMCACHE_LOCAL_CPU=true\n" + serve(kv_connector="LMCacheMPConnector"), None, 1)],
    "offloading_backend_lmcache": [("vllm serve m --kv-offloading-backend lmcache --kv-offloading-size 20", None, 1)],
    "tiering_cpu_bytes": [
        (
            serve(kv_connector="OffloadingConnector", kv_connector_extra_config={"spec_name": "TieringOffloadingSpec"}),
            None,
            1,
        )
    ],
    "version_pair": [(f"pip install vllm==0.11.0 lmcache==0.3.8\n{SERVE}", None, 1)],
    "api_open": [(SERVE + " --host 0.0.0.0", None, 1)],
    "secret": [
        (f"export HF_TOKEN=whatever\n{SERVE}", None, 1),
        (SERVE + " --api-key letmein", None, 1),
        (HASH + "remote_storage_plugins: [redis]\nextra_config: {redis_url: 'redis://u:pw@h:1'}\n", None, 3),
        (HASH + "extra_config:\n  aws_secret_access_key: abc\n", None, 2),
    ],
}


@pytest.mark.parametrize(
    ("rule", "text", "facts", "line"),
    [(rule, text, facts, line) for rule, cases in CASES.items() for text, facts, line in cases],
    ids=lambda value: value if isinstance(value, str) and value in CASES else "",
)
def test_each_rule_finds_its_fault_and_nothing_else(rule: str, text: str, facts: Facts | None, line: int) -> None:
    found = lint([Source("paste", text)], facts)
    assert [(finding.id, finding.line) for finding in found] == [(rule, line)]


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


COMPOSE = f"""
x-env: &env
  PYTHONHASHSEED: 0
services:
  vllm:
    image: lmcache/vllm-openai:v0.5.6   # a comment
    ipc: host
    environment:
      <<: *env
      LMCACHE_LOCAL_CPU: true
      LMCACHE_PRE_CACHING_HASH_ALGORITHM: sha256
      HF_TOKEN: ${{HF_TOKEN}}
    command: >
      --model Qwen/Qwen3-8B
      --host 0.0.0.0 --port 8000
      --kv-transfer-config '{GOOD_JSON}'
    ports:
      - "127.0.0.1:8000:8000"
  redis:
    image: valkey/valkey:8
    command: ["valkey-server", "--save", ""]
"""

KUBERNETES = f"""apiVersion: v1
kind: Service
metadata: {{name: vllm}}
---
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.32.0
          command: ["/bin/sh", "-c"]
          args:
            - |
              vllm serve Qwen/Qwen3-8B --host 0.0.0.0 \\
                --kv-transfer-config '{GOOD_JSON}'
          env:
            - name: LMCACHE_LOCAL_CPU
              value: "True"
            - name: LMCACHE_PRE_CACHING_HASH_ALGORITHM
              value: sha256
            - name: HF_TOKEN
              valueFrom: {{secretKeyRef: {{name: hf, key: token}}}}
"""

GOOD = {
    "deployment.yaml": KUBERNETES,
    "a command": SERVE,
    "lmcache.yaml": f'# ours\n{HASH}{DISK}chunk_size: 256\nlocal_cpu: yes\nextra_config: {{"use_odirect": true}}\n',
    "serve.sh": f"""#!/usr/bin/env bash
set -euo pipefail
: "${{MODEL:=Qwen/Qwen3-8B}}"
export PYTHONHASHSEED=0
export LMCACHE_PRE_CACHING_HASH_ALGORITHM="sha256" LMCACHE_LOCAL_DISK="file://$CACHE/kv"
export LMCACHE_MAX_LOCAL_DISK_SIZE=${{LIMIT:-50}}
if [ -n "$DEBUG" ]; then export LMCACHE_LOG_LEVEL=DEBUG; fi
exec vllm serve "$MODEL" --host 0.0.0.0 --api-key "$KEY" --kv-transfer-config '{GOOD_JSON}' 2>&1 | tee vllm.log
""",
    "inline.sh": f"LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256 python3 -m vllm.entrypoints.openai.api_server --model m "
    f"--kv-transfer-config='{GOOD_JSON}' &\n",
    "config.sh": 'CONFIG="' + GOOD_JSON.replace('"', '\\"') + '"\nvllm serve m --kv-transfer-config "$CONFIG"\n',
    "docker.sh": f"docker run --rm -e LMCACHE_LOCAL_CPU=true -e LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256 "
    f"lmcache/vllm-openai:v0.5.6 m --kv-transfer-config '{GOOD_JSON}'",
    "docker-compose.yml": COMPOSE,
    "lmcache.env": "LMCACHE_LOCAL_CPU=true # hot\nLMCACHE_PRE_CACHING_HASH_ALGORITHM='sha256'\nHF_TOKEN=${HF_TOKEN}\n",
    "two.sh": f"{SERVE} --port 8001 &\nvllm serve m --port 8002   # control\n",
    "disaggregated.sh": "export LMCACHE_ENABLE_PD=true LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256 PYTHONHASHSEED=0\n"
    + serve(kv_role="kv_producer"),
    "own.sh": serve(kv_connector="LMCacheCPUConnectorV1", kv_connector_module_path="lmcache_cpu_connector"),
    "unrelated": "apt-get install -y jq\nnvidia-smi\n",
}


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


SECRETS = ("hf_abcdefghijklmnopqrstuvwx", "sk-proj-1234567890abcdefgh", "p4ssw0rd-of-mine")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "text",
    [
        'export HF_TOKEN={0}\nvllm serve m --api-key {0} --kv-transfer-config {{"kv_connector":{0}',
        "remote_url: redis://user:{0}@host:1\nunknown_thing: {0}\nlocal_cpu: {0}\nchunk_size: {0}\n"
        'extra_config: \'{{"password": "{0}"\'\n',
        "LMCACHE_RESP_PASSWORD={0}\nLMCACHE_REMOTE_URL=rediz://:{0}@h:1\nLMCACHE_PRE_CACHING_HASH_ALGORITHM={0}\n",
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n    environment: [API_KEY={0}]\n"
        "    command: --model m --hf-token {0}\n",
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_secret_is_ever_echoed(secret: str, text: str, language: str) -> None:
    found = lint([Source("paste", text.format(secret))])
    assert found
    assert secret not in json.dumps([finding.to_json(language) for finding in found], ensure_ascii=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_has_its_words(language: str) -> None:
    texts = all_texts(language)["finding"]
    assert set(texts) == set(RULES)
    assert all(set(words) == {"what", "why", "fix"} for words in texts.values())


def test_all_languages_say_the_same_things_with_the_same_values() -> None:
    def fields(node: object, path: str = "") -> dict[str, list[str]]:
        if isinstance(node, dict):
            return {
                key: found for name, inner in node.items() for key, found in fields(inner, f"{path}.{name}").items()
            }
        names = (field for _, field, _, _ in string.Formatter().parse(str(node)) if field)
        return {path: sorted(set(names))}

    first, *others = (fields(all_texts(language)) for language in LANGUAGES)
    for other in others:
        assert other == first


def test_every_rule_names_a_page_of_the_course() -> None:
    lessons = {path.name for path in (Path(__file__).parents[2] / "lessons").iterdir() if path.is_dir()}
    assert {page for _, page in RULES.values()} <= lessons | {"version-pairs"}


def assert_read_or_refused(source: Source) -> None:
    refused = ""
    try:
        assert all(isinstance(finding, Finding) for finding in lint([source]))
    except KvtiersError as error:
        refused = str(error)
    assert not refused or re.search(r"line \d+", refused)


@settings(deadline=FUZZ_DEADLINE)
@given(st.text(max_size=300), st.sampled_from(["paste", "a.yaml", "a.sh", ".env", "compose.yml"]))
def test_any_text_is_read_or_refused_with_its_line(text: str, name: str) -> None:
    assert_read_or_refused(Source(name, text))


@settings(deadline=FUZZ_DEADLINE)
@given(st.data())
def test_damaged_configurations_never_raise(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(GOOD)))
    text = GOOD[name]
    start = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 12))
    inserted = data.draw(st.text(alphabet="'\"{}[]:,-#&*$\\\n \tx", max_size=4))
    assert_read_or_refused(Source(name, text[:start] + inserted + text[start + cut :]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", serve(kv_connector_extra_config="x")),
        ("a.sh", serve(kv_connector_extra_config=[1])),
        ("a.sh", serve(kv_connector_extra_config={"lmcache.extra_config": 5})),
        ("a.sh", "vllm serve m --kv-transfer-config '{}' --kv-transfer-config.a=1 --kv-transfer-config.a.c=2"),
        ("a.sh", f"{SERVE} --tensor-parallel-size ² --block-size ² --max-model-len ²"),
        ("a.sh", f"vllm serve m --kv-transfer-config '{'[' * 100_000}'"),
        ("a.yaml", "chunk_size: .inf\n" + DISK),
        ("a.yaml", f"extra_config: '{'[' * 100_000}'\n"),
        ("a.yaml", f"extra_config: {'[' * 1000}{']' * 1000}\n"),
    ],
)
def test_values_of_the_wrong_kind_never_raise(name: str, text: str) -> None:
    assert_read_or_refused(Source(name, text))


def test_the_command_says_findings_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.sh", tmp_path / "bad.sh"
    good.write_text(SERVE)
    bad.write_text(SERVE + " --no-enable-prefix-caching")
    assert main(["lint", str(good)]) == 0
    assert main(["lint", "--json", str(bad)]) == 1
    said = json.loads(capsys.readouterr().out.split("\n", maxsplit=1)[1])
    assert [finding["id"] for finding in said] == ["prefix_caching_off"]
    assert main(["lint", str(tmp_path / "none")]) == 2
    assert main(["lint", str(tmp_path)]) == 2
    (tmp_path / "words").write_text("nothing of the kind")
    assert main(["lint", str(tmp_path / "words")]) == 2
    capsys.readouterr()
    assert main(["lint", str(tmp_path / "words"), str(good)]) == 2
    said_of = capsys.readouterr().err
    assert str(tmp_path / "words") in said_of
    assert str(good) not in said_of
    (tmp_path / "server.log").write_text("x" * 3_000_000)
    assert main(["lint", str(tmp_path / "server.log")]) == 2
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    assert main(["lint", str(tmp_path / "binary")]) == 2


@pytest.mark.parametrize("arguments", [["-", "-"], ["-", "--mounts", "-"]])
def test_standard_input_is_read_once_and_stays_open(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(SERVE.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["lint", *arguments]) == 2
    assert "standard input can be read once" in capsys.readouterr().err
    assert main(["lint", "-"]) == 0
    assert not stdin.closed


def test_an_argument_is_named_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.sh").write_text(SERVE)
    assert main(["lint", "--prefix-tokens", "0", str(tmp_path / "good.sh")]) == 2
    assert "--prefix-tokens" in capsys.readouterr().err


@pytest.mark.parametrize(("language", "label"), [("en", "in the course: "), ("zh-TW", "課程頁面: ")])
def test_a_bad_pair_of_versions_is_said_in_one_language(
    language: str, label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "install.sh"
    pins.write_text("pip install vllm==0.11.0 lmcache==0.3.8\n")
    assert main(["lint", "--language", language, "--json", str(pins)]) == 1
    (finding,) = json.loads(capsys.readouterr().out)
    assert finding["id"] == "version_pair"
    assert finding["values"]["what"] in finding["what"]
    assert main(["lint", "--language", language, str(pins)]) == 1
    assert f"{label}version-pairs" in capsys.readouterr().out
