docker run -d --gpus all --network host --ipc host --name kv lmcache/standalone:v0.5.6 \
  /opt/venv/bin/lmcache server --l1-size-gb 64 --eviction-policy LRU \
  --host 0.0.0.0 --http-host 0.0.0.0 --http-port 8080 --run-script-api-enabled
docker run -d --gpus all --network host --ipc host --name llm lmcache/vllm-openai:v0.5.6 \
  Qwen/Qwen3-8B --host 127.0.0.1 \
  --kv-transfer-config '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute"}'
