export LM_CACHE_CHUNK_SIZE=256
export LM_CACHE_LOCAL_CPU=True
export LM_CACHE_MAX_LOCAL_CPU_SIZE=200
export LM_CACHE_SAVE_DECODE_CACHE=False
export LM_CACHE_USE_EXPERIMENTAL=True
python3 -m vllm.entrypoints.openai.api_server --model /models/Meta-Llama-3-8B --host 127.0.0.1 \
  --kv-transfer-config '{"kv_connector":"LMCacheConnector", "kv_role":"kv_both"}' --max-model-len 2048 --gpu-memory-utilization 0.75
