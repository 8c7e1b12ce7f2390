#!/usr/bin/env bash
set -euo pipefail
: "${MODEL:=Qwen/Qwen3-8B}" "${TP:=1}"
KV=$(printf '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_load_failure_policy":"recompute","kv_connector_extra_config":{"lmcache.mp.port":%s}}' "${KV_PORT:-6555}")
ARGS=(
  --host 127.0.0.1            # nginx is in front
  --max-num-batched-tokens 8192
  --tensor-parallel-size "$TP"
)
[[ -n "${MAX_LEN:-}" ]] && ARGS+=(--max-model-len "$MAX_LEN")
ARGS+=(--kv-transfer-config "$KV")
exec vllm serve "$MODEL" "${ARGS[@]}" "$@"
