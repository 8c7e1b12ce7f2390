#!/bin/sh
# vLLM 0.25 with LMCache inside, the last pair where that is safe
docker run -d --gpus all --name chat -p 127.0.0.1:8000:8000 -m 96g \
  -e PYTHONHASHSEED=0 -e LMCACHE_LOCAL_CPU=True -e LMCACHE_MAX_LOCAL_CPU_SIZE=48 \
  -e LMCACHE_PRE_CACHING_HASH_ALGORITHM=sha256 \
  --entrypoint bash vllm/vllm-openai:v0.25.1 -lc '
    pip install -q "lmcache==0.5.6" &&
    exec vllm serve Qwen/Qwen3-8B --max-num-seqs 64 \
      --kv-transfer-config "{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\",\"kv_load_failure_policy\":\"recompute\"}"'
