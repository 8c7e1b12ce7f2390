"""Every known warning is known by its line."""

import io

import pytest

from kvtiers.logs.read import read_log, read_log_text
from kvtiers.logs.warnings import WARNINGS
from kvtiers.tables import read_table
from tests.core.logs.builders import FAILING, LONG_HEAD, RECOVERED, info, vllm_error, warning

KEY = "vllm@tiny@1@0@1a2b3c4d5e6f@float"

# id -> a line of it, as the engines' format strings make it
WARNING_LINES = {
    "no_connector_for_device": "RuntimeError: No supported cpu connector found.",
    "init_failed": warning("LMCacheEngine marked as init failed: No supported cpu connector found.", "ERROR"),
    "init_components_failed": warning(
        "Failed to initialize LMCacheManager components: x. System will operate in degraded mode (recompute).", "ERROR"
    ),
    "lookup_timeout": warning("Timeout occurred for rank 0, recreating all sockets. Error: unavailable", "ERROR"),
    "unhealthy": warning("LMCache is unhealthy, skipping store operation"),
    "unsupported_connector": "ValueError: Unsupported connector type: LMCacheConnector",
    "offloading_needs_gpu": "Exception: CPU Offloading is currently only supported on CUDA-alike and XPU GPUs",
    "staging_exhausted": warning(
        "No eviction candidates found in local cpu backend. Local cpu memory is under pressure. Waiting for 0.1 "
        "seconds before retrying."
    ),
    "allocation_failed": warning(
        "Failed to allocate memory for tensor(torch.Size([2, 256])) because no memory is available"
    ),
    "store_truncated": warning(
        "Local cpu memory under pressure so choosing to store only  3 total chunks of KV cache."
    ),
    "disk_chunk_too_large": warning(f"Put task for {KEY} requires 9 bytes, exceeding disk cache capacity 8 bytes."),
    "disk_full": warning(f"Insufficient evictable disk cache space for {KEY}: need 9 bytes, have 8 bytes."),
    "disk_pressure": warning("No eviction candidates found. Disk space under pressure."),
    "file_lost": warning("File not found on disk: /mnt/nvme/kv/vllm@tiny@1.pt"),
    "chunk_load_failed": warning(f"Failed to load chunk from disk for key {KEY}: [Errno 5]", "ERROR"),
    "disk_load_memory": warning(f"Memory allocation failed during async disk load for key {KEY}. x", "ERROR"),
    "block_not_retrieved": warning("The cache block is in the storage, but it can't be retrieved"),
    "fewer_retrieved": warning(
        "Request rThe number of retrieved tokens is less than the expected number of tokens! This should not happen!",
        "ERROR",
    ),
    "blocks_failed": warning("Request r failed to load 256 tokens across 2 blocks"),
    "rolled_back": warning("Request r rolled back from 1330 to 1280 tokens; truncating tracker state."),
    "save_skipped": warning("Skipping KV save for request r: slot_mapping/token_ids length mismatch (x)"),
    "abort_without_engine": warning(
        "Skipping abort-time backend cleanup for request r: lmcache_engine is not initialized (x)."
    ),
    "hash_fallback": warning(
        "Could not load 'sha265' from vLLM. Using builtin hash. This may cause inconsistencies in distributed caching."
    ),
    "hash_without_seed": warning("Using builtin hash without PYTHONHASHSEED set. For production environments, x"),
    "ranks_differ": warning("Lookup results (number of hit tokens) differ across (TP and PP) ranks: [256, 0]."),
    "async_lookup_slow": warning(
        "Request r is still waiting for async lookup after 30 seconds, returning 0 lmcache cached tokens so vllm can "
        "recompute"
    ),
    "kv_load_failure": FAILING,
    "kv_load_recovered": RECOVERED,
    "mp_bypass": warning("Bypassing LMCache for request r after a failed async KV load; the prompt will be recomputed"),
    "mp_degraded": warning("LMCache server is unhealthy — entering degraded mode"),
    "mp_lookup_timeout": warning("LOOKUP to tcp://localhost:5555 timed out after 3s. Marking server as unhealthy."),
    "mp_no_handler": warning("No handler registered for operation register_kv_cache_context", "ERROR"),
    "mp_keys_lost": warning("Some keys not found during retrieve!", "ERROR"),
    "mp_unregistered": warning("Rejecting STORE for unregistered GPU instance ID 7"),
    "mp_short_read": warning("Incomplete read for vllm@tiny.bin: expected 9, got 8"),
    "mp_unbounded": warning(
        "fs_native: max_capacity_gb=5 is declared but is used for usage accounting only and will NOT bound disk usage."
    ),
    "mp_evicting": info("L1 memory usage 0.91 above watermark 0.80; triggering eviction."),
    "unknown_setting": warning("Unknown configuration key: max_local_disc_size (source: file)"),
    "setting_unread": warning("Failed to parse LMCACHE_CHUNK_SIZE='many': invalid literal for int()"),
    "remote_deprecated": warning("remote_url is deprecated and will be removed in a future release. x"),
    "abort_crash": "    assert self.lmcache_engine is not None",
    "engine_dead": "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace",
    "import_failed": "ModuleNotFoundError: No module named 'vllm.utils.torch_utils'",
    "import_name": "ImportError: cannot import name 'x' from 'vllm.utils'",
    "out_of_memory": vllm_error("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    "no_cache_blocks": vllm_error("ValueError: No available memory for the cache blocks. Try increasing x"),
    "kv_larger_than_memory": vllm_error(
        "ValueError: 4.0 GiB KV cache is needed, which is larger than the available KV cache memory (2.1 GiB)."
    ),
    "shm_too_small": vllm_error("RuntimeError: Insufficient space in /dev/shm for CPU KV offload shared region in x"),
    "shm_populate": vllm_error('  File "/opt/shared_offload_region.py", line 43, in _madvise_populate_write'),
    "hybrid_not_unified": vllm_error(
        "ValueError: Hybrid KV cache manager is disabled but failed to convert the KV cache specs to one unified type."
    ),
    "hma_refused": vllm_error("ValueError: Connector LMCacheConnectorV1 does not support HMA but HMA is enabled. x"),
    "put_failed": warning("Put task failed for key CacheEngineKey(model_name='m'): [Errno 32] Broken pipe", "ERROR"),
    "upload_failed": warning("Failed to upload m@1@0@1a2b3c4d@half to S3: AWS_ERROR_S3_INVALID_RESPONSE", "ERROR"),
    "upload_raised": "RuntimeError: Upload failed in S3Connector: {'status': 400}",
    "upload_impossible": warning(
        "Cannot upload m@1@0: chunk size 9 bytes does not match S3 part size 8 bytes.", "ERROR"
    ),
    "write_failed": warning("Failed to write to file /mnt/kv/m.data: [Errno 28] No space left on device", "ERROR"),
    "key_put_failed": warning("Failed to put key m@1@0 using put_parts: RuntimeError: x", "ERROR"),
    "mp_store_raised": warning("Cannot store keys due to exception", "ERROR"),
    "mp_store_wrong": warning("Something went wrong when processing the store request for request_id=r", "ERROR"),
    "mp_store_dropped": warning("Dropping store for request r while the server is unhealthy; reporting it as x"),
    "mp_store_task": warning("Store task 7 to adapter 0 failed for keys: [x]"),
    "mp_no_room": warning("Prefetch: 3 L1 reservations failed with out-of-memory; x"),
    "mp_retrieve_wrong": warning("Something went wrong when processing the retrieve request for request_id=r", "ERROR"),
    "mp_retrieve_raised": warning("Cannot retrieve keys due to exception", "ERROR"),
    "remote_lost": warning("Remote connection failed in contains: Connection refused"),
    "remote_unreached": warning("Failed to initialize/re-establish remote connection: [Errno 111]"),
    "s3_lost": warning("S3 connection error (1/3): timed out", "ERROR"),
    "remote_not_created": warning("Failed to create remote backend for plugin redis: no such host", "ERROR"),
    "tier_not_created": warning("Failed to create backend gds: no cufile", "ERROR"),
    "mp_retrieve_unregistered": warning("Rejecting RETRIEVE for unregistered GPU instance ID 7"),
    "mp_no_context": warning("No GPU context found for model m with world size 2 during lookup!", "ERROR"),
    "mp_worker_shared": warning(
        "AffinityThreadPool: affinity_key=9 wrapped onto worker slot 0 (only 1 workers), so it shares a thread with x"
    ),
    "mp_reaped": warning("Reaped GPU instance 7: silent for 121.0s (pinged=True)"),
    "mp_reaped_cpu": warning("Reaped non-GPU instance 7: silent for 121.0s (pinged=True)"),
    "start_failed": vllm_error("EngineCore failed to start."),
    "start_failed_elsewhere": "RuntimeError: Engine core initialization failed. See root cause above. x",
    "python_died": "Fatal Python error: Segmentation fault",
    "crashed": "terminate called after throwing an instance of 'c10::Error'",
    "core_dumped": "/entrypoint.sh: line 3:     7 Aborted (core dumped) vllm serve m",
    "proc_died": vllm_error("Engine core proc EngineCore died unexpectedly, shutting down client."),
    "killed": "/entrypoint.sh: line 3:     7 Killed                  vllm serve m",
    "exit_137": "vllm-1 exited with code 137",
    "answered_500": 'INFO:     127.0.0.1:4 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
    "offload_size_missing": vllm_error("Exception: cpu_bytes_to_use must be specified in kv_connector_extra_config"),
    "offload_tier_unknown": vllm_error("ValueError: Unknown secondary tier type: 'fs_python'. Supported: x"),
    "engine_fatal": vllm_error("EngineCore encountered a fatal error."),
    "oom_killed": "[12345.6] Out of memory: Killed process 1234 (VLLM::Worker_TP) total-vm:1kB",
    "exited": "vllm-1 exited with code 139",
    "restarted_for_failing": "Warning  BackOff  2m (x10)  kubelet  Back-off restarting failed container vllm in pod x",
    "process_raised": "(EngineCore pid=3) Process EngineCore:",
    "panicked": "thread 'tokio-runtime-worker' panicked at src/lib.rs:10:5:",
    "gpu_lost": "[ 123.4] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
    "not_started": "/bin/bash: line 1: vllm: command not found",
    "redis_unreached": "Could not connect to Redis at 10.0.0.5:6379: Connection refused",
    "store_failed": "E0905 14:46:37.882854 17930 store_py.cpp:1036] Put operation failed with error: RPC_FAIL",
}


@pytest.mark.parametrize("name", WARNINGS)
@pytest.mark.parametrize("before", ["", LONG_HEAD], ids=["head", "deep"])
def test_every_warning_is_known_by_its_line(name: str, before: str) -> None:
    """In a short paste, and deep in a long log."""
    line = WARNING_LINES[name]
    log = read_log(io.BytesIO(f"{before}{line}\n".encode()), "log")
    assert log.warnings == {name: 1}
    assert log.samples[name].line == line.strip()


def test_passwords_in_addresses_are_not_repeated() -> None:
    log = read_log_text(warning("Failed to connect to redis://user:hunter22@cache:6379/0"))
    assert "hunter" not in f"{log.samples} {log.warnings}"
    assert "cache:6379" in str(log.samples)


@pytest.mark.parametrize("name", WARNINGS)
def test_an_entry_holds_all_there_is_to_say_of_a_warning(name: str) -> None:
    assert set(read_table("logs/warnings.toml")[name]) - {"problem", "at_info", "regex", "find"} == {"line", "meaning"}
