#!/bin/bash
# after two days du -sh says 14T, not 4T
exec lmcache server --l1-size-gb 800 --eviction-policy LRU \
  --max-gpu-workers 8 --max-cpu-workers 32 \
  --port 5555 --http-port 18003 --chunk-size 2048 \
  --l2-adapter '{"type":"fs_native","base_path":"/data/lmcache","num_workers":16,"max_capacity_gb":4000}'
