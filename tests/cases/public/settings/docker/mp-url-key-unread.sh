#!/bin/bash
# engine says: waiting for the server on port 5555, but mine runs on 6555
lmcache server --l1-size-gb 10 --eviction-policy LRU --port 6555 --chunk-size 256 --max-workers 8 &

CUDA_VISIBLE_DEVICES=1 python3 -m vllm.entrypoints.openai.api_server \
  --model /srv/models/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8002 \
  --tensor-parallel-size 1 --gpu-memory-utilization 0.60 \
  --kv-transfer-config '{
      "kv_connector": "LMCacheMPConnector",
      "kv_role": "kv_both",
      "kv_load_failure_policy": "recompute",
      "kv_connector_extra_config": {
        "lmcache_mp_server_url": ["tcp://127.0.0.1:6555"]
      }
  }'
