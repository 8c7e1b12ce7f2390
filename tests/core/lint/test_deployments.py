"""What deployment tools write around a command is read as what they start; what is not read beside it is named."""

import pytest

from kvtiers.lint import Source, report
from tests.core.lint.builders import GOOD_JSON, KUBERNETES, MP_JSON, ids, offload

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


def pod(volumes: str = "", kind: str = "Pod", around: str = "") -> str:
    """An engine whose tier on a drive may take 500 GiB, and a server that everybody may reach."""
    return f"""apiVersion: apps/v1
kind: {kind}
metadata: {{labels: {{app: kv}}}}
spec:{around}
  containers:
    - name: v
      image: vllm/vllm-openai:v0.25.1
      args: [m, --kv-transfer-config, '{GOOD_JSON}']
      env:
        - {{name: PYTHONHASHSEED, value: "0"}}
        - {{name: LMCACHE_LOCAL_DISK, value: /kv}}
        - {{name: LMCACHE_MAX_LOCAL_DISK_SIZE, value: "500"}}
      volumeMounts: [{{name: kv, mountPath: /kv}}]
  volumes: [{volumes}]
"""


CLAIM = "spec: {resources: {requests: {storage: 100Gi}}}"


@pytest.mark.parametrize(
    "text",
    [
        pod("{name: kv, persistentVolumeClaim: {claimName: c}}")
        + f"---\nkind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {{name: c}}\n{CLAIM}\n",
        pod("", "StatefulSet", f"\n  volumeClaimTemplates: [{{metadata: {{name: kv}}, {CLAIM}}}]"),
    ],
)
def test_a_claim_is_as_large_as_what_it_asks_for(text: str) -> None:
    assert ids(text, "pod.yaml") == ["disk_larger_than_drive"]
    assert ids(text.replace("100Gi", "600Gi"), "pod.yaml") == []


OPEN = """apiVersion: v1
kind: Pod
metadata: {labels: {app: kv}}
spec:
  containers:
    - name: s
      image: lmcache/standalone:v0.5.6
      ports: [{name: admin, containerPort: 8080}]
      args: [lmcache, server, --http-host, 0.0.0.0, --l1-size-gb, "20", --eviction-policy, LRU]
"""


@pytest.mark.parametrize(
    ("service", "found"),
    [
        ("{type: LoadBalancer, ports: [{port: 8080}], selector: {app: kv}}", ["mp_open"]),
        ("{type: NodePort, ports: [{port: 80, targetPort: admin}], selector: {app: kv}}", ["mp_open"]),
        ("{type: ClusterIP, ports: [{port: 8080}], selector: {app: kv}}", []),
        ("{type: LoadBalancer, ports: [{port: 8000}], selector: {app: kv}}", []),
        ("{type: LoadBalancer, ports: [{port: 80, targetPort: http}], selector: {app: kv}}", []),
        ("{type: LoadBalancer, ports: [{port: 8080}], selector: {app: web}}", []),
    ],
)
def test_a_service_that_leads_outside_opens_its_port(service: str, found: list[str]) -> None:
    text = f"apiVersion: v1\nkind: Service\nspec: {service}\n---\n{OPEN}"
    assert ids(text, "pod.yaml") == found


def test_a_number_in_json_may_have_the_suffix_that_vllm_takes() -> None:
    text = offload().replace("1073741824", "2G")
    assert ids(text) == []
    assert ids(f"docker run -m 1g --ipc host x {text}") == ["memory_exceeded"]


def test_a_document_about_something_else_does_not_take_the_others_along() -> None:
    given = report([Source("all.yaml", f"global: {{}}\n---\nkind: Kustomization\n---\n{KUBERNETES}")]).given
    assert len(given.servers) == 1
    assert [why.split(":")[0] for _, why in given.skipped] == ["line 1", "line 3"]


def test_what_a_service_extends_in_another_file_is_not_seen() -> None:
    text = "services:\n  v: {extends: {file: base.yaml, service: vllm}, environment: [LMCACHE_CHUNK_SIZE=100]}\n"
    checked = report([Source("compose.yaml", text)])
    assert "no_connector" not in [one.id for one in checked.findings]
    assert [one.name for one in checked.given.servers[0].environment_unseen][:1] == ["vllm (base.yaml)"]
