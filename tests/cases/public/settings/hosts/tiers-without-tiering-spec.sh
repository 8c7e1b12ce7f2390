#!/bin/sh
# vLLM 0.32.0: RAM first, then the NVMe. But nothing ever appears in /mnt/nvme/kv
exec vllm serve Qwen/Qwen3-8B --host 127.0.0.1 --kv-transfer-config '{
  "kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute",
  "kv_connector_extra_config": {
    "cpu_bytes_to_use": 34359738368,
    "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/nvme/kv"}]
  }}'
