#!/usr/bin/env bash
set -euo pipefail
set -a
source ./lmcache.env
set +a
cmd=(vllm serve "${MODEL:-Qwen/Qwen3-8B}" --host 127.0.0.1 --port "${PORT:-8000}")
if [[ "${TP:-1}" -gt 1 ]]; then
  cmd+=(--tensor-parallel-size "$TP")
fi
cmd+=(--kv-transfer-config "$(jq -c . kv.json)")
exec "${cmd[@]}" ${EXTRA_ARGS:-}
