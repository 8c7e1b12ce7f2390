"""The forms people have are read as what they start; what they point to is taken from the other inputs, or named."""

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.lint import Source, report
from kvtiers.lint.formats import basis
from kvtiers.lint.given import Invocation
from tests.core.lint.builders import ESCAPED, GOOD_JSON, MP, SERVE, compose_service, ids

KUBE = f"""apiVersion: v1
kind: ConfigMap
metadata: {{name: kv}}
data:
  PYTHONHASHSEED: "0"
  LMCACHE_CHUNK_SIZE: "300"
  kv.yaml: |
    local_cpu: true
    local_disk: file:///kv
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        hostIPC: true
        containers:
          - name: leader
            image: vllm/vllm-openai:latest
            command: [bash, -xec]
            args: ["vllm serve $(MODEL) -tp 4 --kv-transfer-config '{ESCAPED}'"]
            envFrom: [{{configMapRef: {{name: kv}}}}]
            env:
              - {{name: MODEL, value: Qwen/Qwen3-8B}}
              - {{name: LMCACHE_CONFIG_FILE, value: /etc/lmcache/kv.yaml}}
            resources: {{limits: {{memory: 10Gi}}}}
            volumeMounts: [{{name: kv, mountPath: /kv}}]
        volumes: [{{name: kv, emptyDir: {{sizeLimit: 100Gi}}}}]
"""

DYNAMO = """apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
spec:
  services:
    Frontend: {extraPodSpec: {mainContainer: {image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.1}}}
    Worker:
      envs: [{name: PYTHONHASHSEED, value: "0"}, {name: LMCACHE_LOCAL_CPU, value: "on"}]
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-8B, --connector, lmcache]
"""

KSERVE = f"""apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {{name: huggingface}}
      args: [--model_name=qwen, '--kv-transfer-config={GOOD_JSON}', --no-enable-prefix-caching]
"""

LLM_D = """apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
spec:
  template:
    containers:
      - name: main
        env: [{name: VLLM_ADDITIONAL_ARGS, value: "--no-enable-prefix-caching"}]
"""

VALUES = """servingEngineSpec:
  modelSpec:
    - name: qwen
      repository: lmcache/vllm-openai
      tag: v0.5.6
      modelURL: Qwen/Qwen3-8B
      limitMemory: 30Gi
      vllmConfig: {tensorParallelSize: 2}
      lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: "20"}
"""

UNIT = f"""[Unit]
Description=vLLM
[Service]
Environment="LMCACHE_LOCAL_CPU=on" PYTHONHASHSEED=0
EnvironmentFile=-/etc/default/vllm
ExecStart=/opt/vllm/bin/vllm serve $MODEL \\
  --kv-transfer-config '{GOOD_JSON}'
"""

DOCKERFILE = f"""FROM vllm/vllm-openai:v0.25.1
# ours
RUN pip install \\
    lmcache==0.5.1
ENV PYTHONHASHSEED=0 LMCACHE_LOCAL_CPU=on
CMD ["--model", "m", "--kv-transfer-config", "{ESCAPED}"]
"""

COMPOSE = f"""services:
  vllm:
    image: vllm/vllm-openai:${{TAG:-v0.25.1}}
    env_file: [./kv.env, {{path: more.env, required: false}}]
    environment: [HF_TOKEN, 'LMCACHE_LOCAL_CPU=${{CPU:-on}}']
    command: --model m --port ${{PORT}} --kv-transfer-config '{GOOD_JSON}'
"""

PLAIN_CONFIG = "tokenizer: x\nmodel: m\nblock_size: 16\nquantization: awq\n"

CONFIG = """tensor_parallel_size: 2
kv-transfer-config:
  kv_connector: LMCacheConnector
  kv_role: kv_both
  kv_load_failure_policy: recompute
"""

PODMAN = f"""podman run -d --env=PYTHONHASHSEED=0 -eLMCACHE_LOCAL_CPU=on \\
  -p 8000:8000 $IMAGE m --host 0.0.0.0 --kv-transfer-config '{GOOD_JSON}'
"""

FORMS = {
    "kubernetes.yaml": (
        KUBE,
        ["chunk_not_multiple", "disk_without_limit", "file_and_variables", "memory_exceeded"],
    ),
    "dynamo.yaml": (DYNAMO, ["bool_reads_false"]),
    "kserve.yaml": (KSERVE, ["prefix_caching_off"]),
    "llm-d.yaml": (LLM_D, ["prefix_caching_off"]),
    "values.yaml": (VALUES, ["memory_exceeded", "prefix_caching_off"]),
    "vllm.service": (UNIT, ["bool_reads_false"]),
    "Dockerfile": (DOCKERFILE, ["bool_reads_false"]),
    "compose.yaml": (COMPOSE, ["bool_reads_false"]),
    "config.yaml": (CONFIG, ["legacy_connector"]),
    "plain.yaml": (PLAIN_CONFIG, ["plain_server"]),
    "lmcache.json": ('{\n  "chunk_size": 100,\n  "local_cpu": true\n}', ["chunk_not_multiple"]),
    "kv.json": (GOOD_JSON.replace("kv_both", "both"), ["kv_role"]),
    "podman.sh": (PODMAN, ["bool_reads_false", "api_open"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_read_as_what_it_starts(name: str) -> None:
    text, rules = FORMS[name]
    assert sorted(ids(text, name)) == sorted(rules)


@pytest.mark.parametrize("name", ["kubernetes.yaml", "dynamo.yaml", "values.yaml", "vllm.service", "Dockerfile"])
def test_a_paste_without_a_name_is_told_by_what_stands_in_it(name: str) -> None:
    text, rules = FORMS[name]
    assert sorted(ids(text)) == sorted(rules)


def servers(*sources: Source) -> list[Invocation]:
    return report(sources).given.servers


def test_a_file_of_variables_reaches_the_service_that_names_it() -> None:
    (server,) = servers(
        Source("compose.yaml", COMPOSE), Source("kv.env", "PYTHONHASHSEED=7"), Source(".env", "PORT=81")
    )
    assert server.environment["PYTHONHASHSEED"].value == "7"
    assert server.options["port"].value == "81"
    assert [unseen.name for unseen in server.environment_unseen] == ["more.env"]
    assert server.versions["vllm"].value == "0.25.1"


def test_what_stands_in_dotenv_alone_does_not_reach_a_container() -> None:
    (server,) = servers(Source("compose.yaml", COMPOSE), Source(".env", "PYTHONHASHSEED=7"))
    assert "PYTHONHASHSEED" not in server.environment


def test_a_service_that_is_built_is_its_dockerfile_with_the_services_own_words_over_it() -> None:
    image = Source("Dockerfile", DOCKERFILE)
    built = "services:\n  vllm:\n    build: {context: .}\n    environment: {PYTHONHASHSEED: 7}\n"
    (server,) = servers(image, Source("compose.yaml", built))
    assert (server.source, server.line) == ("Dockerfile", 6)
    assert {name: value.value for name, value in server.environment.items()} == {
        "PYTHONHASHSEED": "7",
        "LMCACHE_LOCAL_CPU": "on",
    }
    (server,) = servers(image, Source("compose.yaml", f"{built}    command: --model other\n"))
    assert (server.source, server.options["model"].value) == ("compose.yaml", "other")
    assert server.versions["lmcache"].value == "0.5.1"


def test_ray_serves_engine_arguments_are_a_servers_options() -> None:
    text = "applications:\n- args:\n    llm_configs:\n    - engine_kwargs: {tensor_parallel_size: 2, port: 9}\n"
    (server,) = servers(Source("serve.yaml", text))
    assert (server.number("tensor-parallel-size"), server.line) == (2, 4)


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("compose.yaml", COMPOSE, Source("kv.env", "PYTHON HASH\n")),
        ("compose.yaml", "services: {vllm: {build: .}}\n", Source("Dockerfile", 'CMD vllm serve "m\n')),
        ("serve.sh", "source ./more.sh\n", Source("more.sh", 'A="\n')),
        ("serve.sh", "vllm serve --config c.yaml\n", Source("c.yaml", "a: [\n")),
    ],
)
def test_what_is_wrong_in_a_file_that_another_names_is_placed_in_it(name: str, text: str, other: Source) -> None:
    with pytest.raises(KvtiersError, match=rf"^{other.name}, line \d: "):
        report([Source(name, text), other])


def test_vllms_own_configuration_file_is_that_of_the_server_which_names_it() -> None:
    config = Source("conf/vllm.yaml", f"kv-transfer-config: '{GOOD_JSON}'\ntensor-parallel-size: 4\nport: 9\n")
    (server,) = servers(Source("serve.sh", "vllm serve m --config /etc/vllm.yaml --port 8"), config)
    assert (server.number("tensor-parallel-size"), server.number("port")) == (4, 8)
    assert "kv-transfer-config" in server.options


def test_each_server_reads_the_settings_file_it_is_told_of() -> None:
    sources = [
        Source("a.yaml", "chunk_size: 100\n"),
        Source("b.yaml", "chunk_size: 256\n"),
        Source("serve.sh", f"export PYTHONHASHSEED=0\nLMCACHE_CONFIG_FILE=/kv/b.yaml {SERVE}"),
    ]
    found = [(finding.id, finding.source) for finding in report(sources[1:]).findings if finding.certain]
    assert found == []
    found = [(finding.id, finding.source) for finding in report(sources).findings if finding.certain]
    assert found == [("chunk_not_multiple", "a.yaml")]


@pytest.mark.parametrize(
    "script",
    [
        f"A=(--model m --kv-transfer-config '{GOOD_JSON}')\nA+=(-tp 2)\nvllm serve \"${{A[@]}}\"",
        f'A="--kv-transfer-config {ESCAPED} -tp 2"\nvllm serve m $A',
        f"vllm serve m -tp=2 --kv-transfer-config $'{GOOD_JSON}'",
        f"C='vllm serve m -tp 2 --kv-transfer-config {GOOD_JSON}'\n$C",
        f"bash -o pipefail -lc \"vllm serve m -tp2 --kv-transfer-config '{ESCAPED}'\"",
        f"vllm serve m --tensor_parallel_size ${{TP:-2}} \\\n  --kv-transfer-config=$'{GOOD_JSON}' \"$@\"",
        f"eval \"vllm serve m -tp 2 --kv-transfer-config '{ESCAPED}'\"",
        "vllm serve m -tp 2 --kv-transfer-config.kv_connector LMCacheConnectorV1 --kv-transfer-config.kv_role kv_both",
        f'K="${{K:-{ESCAPED}}}"\nvllm serve m -tp "${{TP:-2}}" --kv-transfer-config "$K"',
        f"K=${{K:-'{GOOD_JSON}'}}\nvllm serve m -tp ${{TP:-'2'}} --kv-transfer-config \"$K\"",
        f"cat > go.sh <<EOF\nvllm serve m -tp 2 --kv-transfer-config '{GOOD_JSON}'\nEOF\nbash go.sh",
        f'K=$(cat <<EOF\n{GOOD_JSON}\nEOF\n)\nvllm serve m -tp 2 --kv-transfer-config "$K"',
        f"read -r -d '' K <<'EOF'\n{GOOD_JSON}\nEOF\nvllm serve m -tp 2 --kv-transfer-config \"$K\"",
        f"ssh gpu1 \"cd /srv && vllm serve m -tp 2 --kv-transfer-config '{ESCAPED}'\"",
        f"srun --gres=gpu:2 bash -lc \"vllm serve m -tp 2 --kv-transfer-config '{ESCAPED}'\"",
        f"N=2\nssh gpu1 -p 22 <<EOF\nvllm serve m -tp $N --kv-transfer-config '{GOOD_JSON}'\nEOF",
        f"cat <<'EOF' | sudo bash -s\nvllm serve m -tp 2 --kv-transfer-config '{GOOD_JSON}'\nEOF",
        f"tmux new-session -d -s v \"vllm serve m -tp 2 --kv-transfer-config '{ESCAPED}'\"",
        f"N=2\ncat <<EOF | tee -a vllm.yaml\ntensor-parallel-size: $N\nkv-transfer-config: '{GOOD_JSON}'\nEOF\n"
        "vllm serve m --config vllm.yaml",
    ],
)
def test_a_shells_ways_of_writing_one_command(script: str) -> None:
    (server,) = servers(Source("serve.sh", script))
    assert server.number("tensor-parallel-size") == 2
    assert "LMCacheConnectorV1" in str(server.options["kv-transfer-config"].value)


@pytest.mark.parametrize(
    ("script", "unseen"),
    [
        ('vllm serve m --kv-transfer-config "$(jq -c . "$D/kv.json")"', []),
        ("vllm serve m $EXTRA --port 1", ["$EXTRA"]),
        ("vllm serve $MODEL --enforce-eager ${EXTRA}", ["${EXTRA}"]),
        ('vllm serve "$MODEL" --port "$PORT" "${ARGS[@]}"', ["${ARGS[@]}"]),
        ("vllm serve m --config x.yaml", ["x.yaml"]),
        ("docker run --env-file x.env vllm/vllm-openai --model m", []),
    ],
)
def test_what_stays_unseen_is_named_and_makes_no_error(script: str, unseen: list[str]) -> None:
    (server,) = servers(Source("serve.sh", script))
    assert [one.name for one in server.unseen] == unseen
    assert "no_connector" not in ids("export LMCACHE_LOCAL_CPU=true\n" + script) or "docker" in script


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("run.py", "import vllm\n", "Python"),
        ("notes.md", "# serve\n", "Markdown"),
        ("job.hcl", 'job "vllm" {}\n', "HCL"),
        ("Makefile", "serve:\n\tvllm serve m\n", "a Makefile"),
        ("serve.ps1", "vllm serve m\n", "PowerShell"),
        ("paste", "from vllm import LLM\n", "Python"),
        ("paste", "; ours\n[program:vllm]\ncommand=vllm serve m\n", "supervisor's configuration"),
        ("kustomization.yaml", "kind: Kustomization\nresources: [a.yaml]\n", "a kustomization"),
        ("paste", '# ours\nresource "x" "y" {\n', "HCL"),
    ],
)
def test_a_form_that_is_not_read_is_named(name: str, text: str, kind: str) -> None:
    with pytest.raises(KvtiersError, match=rf"^{name}, line \d: {kind} is not read: "):
        report([Source(name, text)])


def test_an_option_may_be_shortened_as_argparse_takes_it() -> None:
    assert ids("lmcache server --l1-size 20 --eviction-p LRU") == []


def test_variables_reach_only_what_they_are_handed_to() -> None:
    script = (
        f"export A=1 PYTHONHASHSEED=0\ndocker run -e A -e B=2 vllm/vllm-openai m --kv-transfer-config '{GOOD_JSON}'"
    )
    (server,) = servers(Source("serve.sh", script))
    assert {name: value.value for name, value in server.environment.items()} == {"A": "1", "B": "2"}
    (server,) = servers(Source("serve.sh", f"set -a\nA=1\nset +a\nB=2\n{SERVE}"))
    assert set(server.environment) == {"A"}


HASHED = f"LMCACHE_LOCAL_CPU=true vllm/vllm-openai m --kv-transfer-config '{GOOD_JSON}'"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", f"docker run -e PYTHONHASHSEED -e {HASHED}"),
        ("compose.yaml", compose_service(f"m --kv-transfer-config '{GOOD_JSON}'") + "    environment: [%s]\n"),
        ("compose.yaml", compose_service(f"m --kv-transfer-config '{GOOD_JSON}'") + "    environment: {%s:}\n"),
    ],
)
def test_a_variable_that_is_passed_on_is_not_seen_not_unset(name: str, text: str) -> None:
    text = text.replace(
        "%s", "PYTHONHASHSEED, 'LMCACHE_LOCAL_CPU=true'" if "[%s" in text else "LMCACHE_LOCAL_CPU: true, PYTHONHASHSEED"
    )
    assert ids(text, name) == []
    if name == "compose.yaml":
        assert [
            one.id
            for one in report([Source(name, text), Source(".env", "PYTHONHASHSEED=random")]).findings
            if one.certain
        ] == ["hash_builtin"]


def test_a_variable_of_the_scripts_own_is_no_setting() -> None:
    assert ids(f"export PYTHONHASHSEED=0 LMCACHE_PORT=6555\n{MP} --port $LMCACHE_PORT &\n{SERVE}") == [
        "mp_server_beside_in_process"
    ]


def test_offloadings_size_fills_in_what_the_connectors_json_leaves_out() -> None:
    tiers = '{"kv_load_failure_policy":"recompute","kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec"}}'
    assert ids(f"vllm serve m --kv-offloading-size 8 --kv-transfer-config '{tiers}'") == []


def test_two_servers_that_share_an_ipc_namespace_are_one_deployment() -> None:
    apart = f"docker run {{}} lmcache/standalone {MP} &\ndocker run {{}} vllm/vllm-openai m --kv-transfer-config '"
    apart += GOOD_JSON.replace("{", "{{").replace("}", "}}").replace("ConnectorV1", "MPConnector") + "'"
    assert ids(apart.format("", "")) == ["mp_ipc"]
    assert ids(apart.format("--ipc=host", "--ipc host")) == []


def test_another_version_than_the_known_one_makes_a_name_uncertain() -> None:
    text = f"pip install lmcache==0.3.3 vllm==0.10.0\nexport PYTHONHASHSEED=0 LMCACHE_ENABLE_NIXL=True\n{SERVE}"
    assert ids(text) == []
    assert "unknown_key" in [finding.id for finding in report([Source("paste", text)]).findings]


def test_a_verdict_says_what_it_rests_on() -> None:
    checked = report([Source("a.yaml", compose_service(f"--kv-transfer-config '{GOOD_JSON}' -tp 2 $$MORE"))])
    assert checked.clean
    said = basis(checked, "en")
    assert "a.yaml (compose)" in said
    assert "2 rank(s)" in said
    assert "LMCache inside vLLM" in said
    assert "vLLM not seen, LMCache not seen" in said
