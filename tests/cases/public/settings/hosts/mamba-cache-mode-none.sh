#!/usr/bin/env bash
# two DGX Sparks; vLLM 0.32.0, LMCache 0.5.6
MODEL=nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4
lmcache server --l1-size-gb 16 --eviction-policy LRU &
vllm serve $MODEL --host 127.0.0.1 \
  --mamba-cache-mode none \
  --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute"}'
