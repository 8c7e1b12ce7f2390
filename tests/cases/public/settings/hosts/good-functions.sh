#!/bin/bash
# two models on one box, one LMCache server for both
export HF_HUB_OFFLINE=1
L1_GIB=96

start_cache() {
  lmcache server --l1-size-gb "$L1_GIB" --eviction-policy LRU --port 6555 --max-workers 2 >cache.log 2>&1 &
}

start_engine() {   # gpu port model
  CUDA_VISIBLE_DEVICES=$1 vllm serve "$3" --host 127.0.0.1 --port "$2" --kv-transfer-config \
    '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute","kv_connector_extra_config":{"lmcache.mp.port":6555}}' \
    >"engine-$1.log" 2>&1 &
}

start_cache
until curl -sf http://127.0.0.1:8080/healthcheck >/dev/null; do sleep 2; done
start_engine 0 8000 Qwen/Qwen3-8B
start_engine 1 8001 meta-llama/Llama-3.1-8B-Instruct
wait
