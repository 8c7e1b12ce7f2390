cat > decode.yaml <<'EOF'
chunk_size: 256
remote_serde: "naive"
remote_url: "mooncakestore://192.0.2.18:50052/"
local_cpu: false
max_local_cpu_size: 8.0
pre_caching_hash_algorithm: sha256
extra_config:
  local_hostname: "192.0.2.94"
  metadata_server: "http://192.0.2.18:8080/metadata"
  protocol: "tcp"
  master_server_address: "192.0.2.18:50052"
  global_segment_size: 3221225472
EOF
PYTHONHASHSEED=0 LMCACHE_CONFIG_FILE=decode.yaml CUDA_VISIBLE_DEVICES=1 \
  vllm serve Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 8200 \
  --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_consumer","kv_load_failure_policy":"recompute"}'
