"""What deployment tools write around a command is read as what they start; what is not read beside it is named."""

import pytest

from kvtiers.lint import Source, report
from tests.core.lint.builders import GOOD_JSON, KUBERNETES, MP_JSON, ids

QUADLET = f"""[Container]
Image=docker.io/vllm/vllm-openai:v0.25.1
Environment=LMCACHE_LOCAL_CPU=on "PYTHONHASHSEED=0"
Volume=/nvme:/kv
Exec=m --kv-transfer-config '{GOOD_JSON}'
"""

RAY = f"""apiVersion: ray.io/v1
kind: RayService
spec:
  serveConfigV2: |
    applications:
      - args: {{llm_configs: [{{engine_kwargs: {{kv_transfer_config: {GOOD_JSON.replace("kv_both", "both")}}}}}]}}
"""

LLM_D_VALUES = """modelArtifacts: {name: Qwen/Qwen3-8B}
decode:
  containers:
    - {name: vllm, image: ghcr.io/llm-d/llm-d-cuda, modelCommand: vllmServe, args: [--no-enable-prefix-caching]}
"""

SIDECAR = f"""apiVersion: v1
kind: Pod
spec:
  initContainers:
    - {{name: fetch, image: busybox, command: [lmcache, server]}}
    - {{name: kv, restartPolicy: Always, image: lmcache/standalone, command: [lmcache, server, --eviction-policy, LRU]}}
  containers:
    - {{name: v, image: vllm/vllm-openai, args: [m, --kv-transfer-config, '{MP_JSON}']}}
"""

EXTENDS = f"""services:
  base:
    image: vllm/vllm-openai:v0.25.1
    environment: {{PYTHONHASHSEED: 0, LMCACHE_LOCAL_CPU: "on"}}
    command: --model m --kv-transfer-config '{GOOD_JSON}'
  v: {{extends: {{service: base}}, environment: [LMCACHE_CHUNK_SIZE=100]}}
"""

DEPLOYMENTS = {
    "vllm.container": (QUADLET, ["bool_reads_false"]),
    "ray.yaml": (RAY, ["kv_role"]),
    "llm-d-values.yaml": (LLM_D_VALUES, ["prefix_caching_off"]),
    "sidecar.yaml": (SIDECAR, ["mp_required"]),
    "extends.yaml": (EXTENDS, ["bool_reads_false", "chunk_not_multiple"]),
}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_a_deployment_is_read_as_what_it_starts(name: str) -> None:
    text, rules = DEPLOYMENTS[name]
    assert ids(text, name) == rules


def test_a_document_about_something_else_does_not_take_the_others_along() -> None:
    given = report([Source("all.yaml", f"global: {{}}\n---\nkind: Kustomization\n---\n{KUBERNETES}")]).given
    assert len(given.servers) == 1
    assert [why.split(":")[0] for _, why in given.skipped] == ["line 1", "line 3"]


def test_what_a_service_extends_in_another_file_is_not_seen() -> None:
    text = "services:\n  v: {extends: {file: base.yaml, service: vllm}, environment: [LMCACHE_CHUNK_SIZE=100]}\n"
    checked = report([Source("compose.yaml", text)])
    assert "no_connector" not in [one.id for one in checked.findings]
    assert [one.name for one in checked.given.servers[0].environment_unseen][:1] == ["vllm (base.yaml)"]
