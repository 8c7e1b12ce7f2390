#!/bin/bash
LOG_DIR="$(dirname "$0")/logs"; mkdir -p "$LOG_DIR"
lmcache server --max-workers 4 --port 6555 --l1-size-gb 200 --eviction-policy LRU --http-port 7555 \
    > "$LOG_DIR/lmcache.log" 2>&1 &
vllm serve /models/GLM-5-FP8 --host 127.0.0.1 \
    --trust-remote-code \
    --tensor-parallel-size 8 \
    --tool-call-parser glm47 --reasoning-parser glm45 --enable-auto-tool-choice \
    --max-model-len 16384 --gpu-memory-utilization 0.75 \
    --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute","kv_connector_extra_config":{"lmcache.mp.port":6555}}' \
    2>&1 | tee "$LOG_DIR/server.log"
