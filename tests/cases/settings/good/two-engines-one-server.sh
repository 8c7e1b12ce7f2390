lmcache server --l1-size-gb 60 --eviction-policy LRU --max-workers 8 \
  --l2-adapter '{"type":"fs_native","base_path":"/mnt/nvme/kv","max_capacity_gb":500,"eviction":{"eviction_policy":"LRU"}}' &
sleep 10
for g in 0 1; do CUDA_VISIBLE_DEVICES=$g vllm serve Qwen/Qwen3-8B --host 127.0.0.1 --port 800$g --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute"}' & done
