#!/bin/bash
# worked on 0.11; on vLLM 0.32.0 the engine no longer comes up
vllm serve Qwen/Qwen3-0.6B --host 127.0.0.1 --tensor-parallel-size 2 \
  --kv-transfer-config '{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute","kv_connector_extra_config":{"num_cpu_blocks":5000,"block_size":256}}'
