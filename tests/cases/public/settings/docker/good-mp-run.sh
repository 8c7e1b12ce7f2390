#!/usr/bin/env bash
set -euo pipefail
PORT=6555
docker run -d --name lmcache --runtime nvidia --gpus all --network host --ipc host \
    lmcache/standalone:v0.5.6 \
    /opt/venv/bin/lmcache server --l1-size-gb 60 --eviction-policy LRU --max-workers 4 --port "$PORT"

docker run -d --name vllm --runtime nvidia --gpus all --network host --ipc host \
    -v ~/.cache/huggingface:/root/.cache/huggingface \
    lmcache/vllm-openai:v0.5.6 \
    Qwen/Qwen3-14B --host 127.0.0.1 --tensor-parallel-size 4 \
    --kv-transfer-config "{\"kv_connector\":\"LMCacheMPConnector\",\"kv_role\":\"kv_both\",\"kv_load_failure_policy\":\"recompute\",\"kv_connector_extra_config\":{\"lmcache.mp.port\":$PORT}}"
