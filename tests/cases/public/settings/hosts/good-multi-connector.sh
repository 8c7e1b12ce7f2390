#!/bin/bash
# 預填充端：先看自己的 RAM 層，再由 NIXL 交給解碼端
export VLLM_NIXL_SIDE_CHANNEL_HOST=127.0.0.1 VLLM_NIXL_SIDE_CHANNEL_PORT=5558
read -r -d '' KV <<'JSON' || true
{
  "kv_connector": "MultiConnector",
  "kv_role": "kv_both",
  "kv_load_failure_policy": "recompute",
  "kv_connector_extra_config": {
    "connectors": [
      {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute",
       "kv_connector_extra_config": {"cpu_bytes_to_use": 34359738368}},
      {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}
    ]
  }
}
JSON
exec vllm serve meta-llama/Llama-3.1-8B-Instruct --host 127.0.0.1 --port 8100 --kv-transfer-config "$KV"
