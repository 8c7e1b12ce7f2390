#!/bin/bash
python3 -m venv /opt/llm && . /opt/llm/bin/activate
pip install "vllm==0.27.1" "lmcache==0.5.3"
export PYTHONHASHSEED=0
export LMCACHE_LOCAL_CPU=true LMCACHE_MAX_LOCAL_CPU_SIZE=60
export LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256
vllm serve Qwen/Qwen3-32B-AWQ --host 127.0.0.1 \
  --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_load_failure_policy":"recompute"}'
