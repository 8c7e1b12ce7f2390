export LMCACHE_CONFIG_FILE="$(dirname "$0")/disk-only.yaml"
export PYTHONHASHSEED=42
exec vllm serve Qwen/Qwen3-8B --host 127.0.0.1 --kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both","kv_load_failure_policy":"recompute"}' "$@"
