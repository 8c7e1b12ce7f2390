"""Every conclusion, with the parts of a log that lead to it."""

from tests.core.logs.builders import (
    CONNECTOR,
    ENGINE,
    FAILING,
    RECOVERED,
    REMOTE,
    SETTINGS,
    START,
    STOP,
    info,
    lookup,
    retrieved,
    stored,
    vllm_error,
    warning,
)

READY = "(APIServer pid=1) INFO:     Application startup complete."

POOL = "(EngineCore pid=7) INFO 11-29 [kv_cache_utils.py:1] GPU KV cache size: 9,000 tokens"

TIERING = CONNECTOR.replace("LMCacheConnectorV1", "OffloadingConnector")

HMA_REFUSED = vllm_error("ValueError: Connector LMCacheConnectorV1 does not support HMA but HMA is enabled.")

MP_STORES = [info("Stored 1280 tokens in 0.020 seconds"), info("Stored 1280 tokens in 0.021 seconds")]

MP_WORKS = [*MP_STORES, info("Retrieved 1280 tokens in 0.013 seconds")]


def mp_lookup(found: int, asked: int) -> str:
    """Of the LMCache server."""
    return info(
        f"Prefetch request completed (L1+L2): {found}/{asked} retained keys ({found} L1, 0 L2) in 1 ms (x=r, y)"
    )


def works(request: str) -> list[str]:
    """Loaded from a tier."""
    return [lookup(request, hit=1280, load=1280), retrieved(request)]


def cold(count: int) -> list[str]:
    """Prompts of lengths of their own."""
    return [lookup(f"c{number}", total=2000 + number) for number in range(count)]


CONCLUSIONS = [
    ("no_connector", [ENGINE, "(APIServer pid=1) INFO:     Application startup complete."]),
    (
        "unsupported_connector",
        [ENGINE, "(EngineCore pid=9) ERROR ValueError: Unsupported connector type: LMCacheConnector"],
    ),
    (
        "offloading_needs_gpu",
        [ENGINE, "ERROR Exception: CPU Offloading is currently only supported on CUDA-alike and XPU GPUs"],
    ),
    ("version_mismatch", [ENGINE, "ModuleNotFoundError: No module named 'vllm.utils.torch_utils'"]),
    (
        "known_bad_pair",
        [
            ENGINE.replace("0.32.0", "0.11.0").replace("cpu", "cuda"),
            info(
                "LMCache initialized for role KVConnectorRole.WORKER with version 0.3.8, vllm version 0.11.0, lmcache x"
            ),
        ],
    ),
    (
        "known_bad_pair",
        [
            ENGINE.replace("device_config=cpu", "model='m', device_config=cuda, seed=0"),
            CONNECTOR,
            info(
                "LMCache initialized for role KVConnectorRole.WORKER with version 0.5.6, vllm version 0.32.0, lmcache x"
            ),
            lookup("a", hit=1280, load=1280),
            retrieved("a"),
        ],
    ),
    ("degraded", [START, "RuntimeError: No supported cpu connector found."]),
    ("degraded", [START, *[warning("Timeout occurred for rank 0, recreating all sockets.", "ERROR")] * 2]),
    ("mp_server_gone", [START, warning("LMCache server is unhealthy — entering degraded mode")]),
    (
        "abort_crash",
        [START, "    assert self.lmcache_engine is not None", "vllm.v1.engine.exceptions.EngineDeadError: dead"],
    ),
    ("engine_dead", [START, "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue"]),
    (
        "staging_exhausted",
        [
            START,
            lookup("r", hit=1280, load=1280),
            *[warning("No eviction candidates found in local cpu backend. Waiting for 0.1 seconds")] * 5,
        ],
    ),
    ("load_failures", [START, FAILING]),
    ("loads_recovered", [START, RECOVERED]),
    ("load_failures", [START, RECOVERED, FAILING]),
    (
        "mp_transfer_mode",
        [warning("No handler registered for operation register_kv_cache_engine_driven_context", "ERROR")],
    ),
    (
        "no_disk_tier",
        [
            ENGINE,
            CONNECTOR,
            SETTINGS.replace("9.0", "0.0"),
            info("Created backend: LocalCPUBackend (x)"),
            lookup("r"),
            stored("r"),
        ],
    ),
    (
        "hash_drift",
        [START, info("Initialized NONE_HASH=11 from vLLM"), info("Initialized NONE_HASH=12 from vLLM"), lookup("r")],
    ),
    (
        "hash_drift",
        [
            START,
            warning("Using builtin hash without PYTHONHASHSEED set. For production environments"),
            lookup("a"),
            stored("a"),
            lookup("b", computed=1280),
        ],
    ),
    ("stored_but_missed", [START, lookup("a"), stored("a"), lookup("b", computed=1280)]),
    ("not_found_again", [REMOTE, lookup("a"), stored("a"), REMOTE, lookup("b"), stored("b")]),
    (
        "hash_drift",
        [
            REMOTE,
            info("Initialized NONE_HASH=11 from vLLM"),
            lookup("a"),
            stored("a"),
            REMOTE,
            info("Initialized NONE_HASH=12 from vLLM"),
            lookup("b"),
        ],
    ),
    ("works_unmeasured", [START, lookup("b", hit=1280, load=1280), retrieved("b"), *STOP]),
    ("lost_at_restart", [START, lookup("a"), stored("a"), START, lookup("b"), stored("b")]),
    ("prompts_differ", [START, POOL, lookup("a"), stored("a"), lookup("b"), stored("b")]),
    ("same_length_missed", [START, lookup("a"), stored("a"), lookup("b"), stored("b")]),
    # The pool holds one such prompt: by the third the engine has forgotten the first.
    ("same_length_missed", [START, POOL.replace("9,000", "1,400"), lookup("a"), stored("a"), lookup("b"), stored("b")]),
    ("too_short", [START, lookup("a", total=200), lookup("b", total=120)]),
    ("unproven", [START, lookup("a", hit=1280, load=1280)]),
    ("works", [START, lookup("a"), stored("a", second=2), lookup("b", hit=1280, load=1280), retrieved("b")]),
    (
        "little_gain",
        [START, lookup("a"), stored("a", second=1), lookup("b", hit=1280, load=1280), retrieved("b", cost_ms=900)],
    ),
    ("works_unmeasured", [START, lookup("b", hit=1280, load=1280), retrieved("b")]),
    ("works_unmeasured", [info("Stored 1280 tokens in 0.020 seconds"), info("Retrieved 1280 tokens in 0.013 seconds")]),
    ("engine_only", [START, lookup("a"), stored("a"), lookup("b", computed=1280, hit=1280)]),
    ("no_reuse", [START, lookup("a"), stored("a"), lookup("b", total=900), stored("b", 768)]),
    (
        "one_request",
        [info("Prefetch request completed (L1+L2): 0/5 retained keys (0 L1, 0 L2) in 1 ms (external_request_id=r, x)")],
    ),
    ("no_requests", [START]),
    ("no_requests", [ENGINE]),
    ("no_requests", ["INFO 11-29 [loggers.py:1] Engine 000: Running: 0 reqs, Prefix cache hit rate: 0.0%"]),
    (
        "rates_only",
        [
            ENGINE,
            CONNECTOR.replace("LMCacheConnectorV1", "OffloadingConnector"),
            "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%, External prefix cache hit rate: 18.9%",
        ],
    ),
    (
        "rates_only",
        ["INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%, External prefix cache hit rate: 18.9%"],
    ),
    ("no_connector", ["INFO 11-29 [loggers.py:1] Engine 000: Running: 1 reqs, Prefix cache hit rate: 22.1%"]),
    ("one_request", [START, lookup("a"), stored("a")]),
    ("no_requests", [START, *works("a"), START]),
    ("two_servers", [START, *works("a"), START.replace("pid=7", "pid=8"), lookup("b"), CONNECTOR, *works("c")]),
    ("out_of_gpu_memory", [START, vllm_error("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.")]),
    ("out_of_gpu_memory", [START, READY, *works("a"), vllm_error("torch.OutOfMemoryError: CUDA out of memory.")]),
    ("shm_too_small", [ENGINE, vllm_error("RuntimeError: Insufficient space in /dev/shm for x: 65536 MiB required")]),
    (
        "shm_full",
        [
            ENGINE,
            vllm_error('  File "/x/shared_offload_region.py", line 43, in _madvise_populate_write'),
            vllm_error("OSError: [Errno 14] Bad address"),
        ],
    ),
    ("hma_refused", [ENGINE, HMA_REFUSED]),
    (
        "hybrid_dead_end",
        [ENGINE, HMA_REFUSED, ENGINE, vllm_error("ValueError: x failed to convert the KV cache specs y")],
    ),
    ("start_failed", [START, vllm_error("EngineCore failed to start."), vllm_error("ValueError: no such thing")]),
    ("start_failed", [START, "Traceback (most recent call last):", '  File "x"', "KeyError: 'kv'"]),
    ("unknown_error", [START, READY, *works("a"), vllm_error("The moon is full")]),
    ("unknown_error", [START, READY, *works("a"), info("The moon is full", level="ERROR")]),
    ("unknown_error", [START, READY, *works("a"), "Traceback (most recent call last):", '  File "x"']),
    ("unknown_error", [*works("a"), '{"level": "error", "message": "The moon\\u001b[0m is full"}']),
    ("known_error", [START, READY, *works("a"), vllm_error("EngineCore failed to start.")]),
    ("import_failed", [ENGINE, "ModuleNotFoundError: No module named 'redis'"]),
    (
        "perhaps_bad_pair",
        [ENGINE.replace("cpu", "cuda"), CONNECTOR, *works("a")],
    ),
    ("puts_failed", [START, *works("a"), warning("Put task failed for key x: [Errno 32] Broken pipe", "ERROR")]),
    ("puts_failed", [START, *works("a"), warning("Local cpu memory under pressure so choosing to not store the KV")]),
    ("remote_gone", [REMOTE, lookup("a"), warning("Remote connection failed in contains: Connection refused")]),
    ("tier_not_created", [START, warning("Failed to create backend gds: no cufile", "ERROR"), *works("a")]),
    ("unhealthy", [START, *works("a"), warning("LMCache is unhealthy, skipping store operation")]),
    ("ranks_differ", [START, *works("a"), warning("Lookup results differ across (TP and PP) ranks: [256, 0].")]),
    (
        "mp_server_was_gone",
        [
            info("LMCache server is unhealthy — entering degraded mode", 2, "WARNING"),
            info("LMCache server is healthy again — resuming normal operation", 44, "WARNING"),
        ],
    ),
    ("mp_server_gone", [*MP_WORKS, info("LMCache server is unhealthy — entering degraded mode", 2, "WARNING")]),
    ("mp_unregistered", [*MP_WORKS, warning("Rejecting STORE for unregistered GPU instance ID 7")]),
    (
        "mp_few_workers",
        [*MP_WORKS, warning("AffinityThreadPool: affinity_key=9 wrapped onto worker slot 0 (only 1 x")],
    ),
    (
        "mp_few_workers",
        [
            info("Created AffinityThreadPool 'gpu' with 1 worker slots: up to 1 clients"),
            *[info(f"Registered KV cache for GPU ID {number} with 32 layers") for number in (101, 102)],
            *MP_STORES,
        ],
    ),
    ("mp_never_loaded", MP_STORES),
    ("found_not_loaded", [*MP_STORES, *[mp_lookup(5, 5)] * 3]),
    ("few_hits", [MP_STORES[0], *[mp_lookup(1, 50)] * 5, MP_WORKS[-1]]),
    ("hits_stopped", [*[line for _ in range(20) for line in MP_WORKS[1:]], *[MP_STORES[0]] * 500]),
    ("few_hits", [START, *works("h"), *cold(14)]),
    ("counters_read", ["lmcache:num_hit_tokens_total 50000"]),
    ("counters_read", ['lmcache_mp_lookup_hit_tokens_total{model="m"} 50000']),
    ("counters_read", ["vllm:kv_offload_load_bytes_total{} 5e9", "vllm:external_prefix_cache_queries_total{} 0"]),
    ("counters_read", ["INFO KV Transfer metrics: GPU_to_CPU_total_bytes=1e9, CPU_to_GPU_total_bytes=9600000000"]),
    ("written_never_read", ["lmcache:num_stored_tokens_total 4096"]),
    ("not_read", [START, " ".join([lookup("a"), lookup("b"), lookup("c")])]),
    (
        "hash_drift",
        [
            START,
            info(r"Initialized NONE_HASH=b'\x11\xb5{' from vLLM"),
            info(r"Initialized NONE_HASH=b'\x99' from vLLM"),
            lookup("r"),
        ],
    ),
    ("mp_reaped", [*MP_WORKS, warning("Reaped GPU instance 7: silent for 121.0s (pinged=True)")]),
    ("hits_stopped", [START, *[line for n in range(8) for line in works(f"h{n}")], *cold(30)]),
    ("few_hits", [START, *works("h"), *cold(40)]),
    (
        "defaults_in_force",
        [
            ENGINE,
            warning("No LMCache configuration file is set. Trying to read configurations from the environment"),
            info("LMCache Configuration: {'chunk_size': 256, 'local_cpu': True, 'max_local_cpu_size': '5.0 GB'}"),
            lookup("a"),
        ],
    ),
    ("written_never_read", [ENGINE, TIERING, "INFO KV Transfer metrics: vllm:kv_offload_store_bytes=4096, x=1"]),
    ("written_never_read", ['vllm:kv_offload_store_bytes_total{engine="0"} 4.1e+10']),
    ("failure_counters", ['vllm:kv_offload_tiering_cascade_job_failures_total{engine="0"} 3']),
    (
        "counters",
        ["vllm:external_prefix_cache_queries_total{} 960", "vllm:external_prefix_cache_hits_total{} 480"],
    ),
    ("recovered", [START, vllm_error("torch.OutOfMemoryError: CUDA out of memory."), START, READY, *works("a")]),
    # What broke while it served is not made good by a restart.
    (
        "out_of_gpu_memory",
        [START, READY, vllm_error("torch.OutOfMemoryError: CUDA out of memory."), START, *works("a")],
    ),
    ("not_ours", ["[2026-06-03 09:00:00] server_args=ServerArgs(model_path='m', enable_hierarchical_cache=True)"]),
    ("not_ours", ["[gpu=0] Prefill batch. #new-seq: 1, #new-token: 9, #cached-token: 0"]),
    ("two_servers", [START, *works("a"), "INFO KVBM Leader block allocation: G1 (GPU)=9 blocks, G2 (Host)=9 blocks"]),
    ("not_ours", ["INFO KVBM Leader block allocation: G1 (GPU)=9 blocks, G2 (Host)=9 blocks"]),
    ("not_ours", [ENGINE, CONNECTOR.replace("LMCacheConnectorV1", "DynamoConnector"), READY]),
    ("not_ours", [ENGINE, CONNECTOR.replace("LMCacheConnectorV1", "MooncakeStoreConnector"), READY]),
    ("not_ours", [ENGINE, CONNECTOR.replace("LMCacheConnectorV1", "FlexKVConnectorV1"), READY]),
    ("ask_the_server", [ENGINE, CONNECTOR.replace("LMCacheConnectorV1", "LMCacheMPConnector"), READY]),
    ("out_of_ram", [START, READY, *works("a"), "vllm-1 exited with code 137"]),
    ("answered_500", [START, READY, *works("a"), 'INFO: 1.1.1.1:4 - "POST /v1/x HTTP/1.1" 500 Internal Server Error']),
    ("offload_size_missing", [ENGINE, TIERING, vllm_error("Exception: cpu_bytes_to_use must be specified in x")]),
    ("offload_tier_unknown", [ENGINE, TIERING, vllm_error("ValueError: Unknown secondary tier type: 'fs_python'.")]),
    ("import_failed", [ENGINE, "ModuleNotFoundError: No module named 'lmcache'"]),
    ("counters_idle", ["vllm:kv_offload_store_bytes_total{} 0.0", "vllm:prefix_cache_hits_total{} 9.0 1764510000"]),
    # Loads before the first dump, none since: it is not "never".
    (
        "counters_read",
        [f"vllm:kv_offload_{each}_total{{}} {n}" for n in (1, 2) for each in ("store_bytes", "load_time")]
        + ["vllm:kv_offload_load_bytes_total{} 7"] * 2,
    ),
    ("written_never_read", [ENGINE, TIERING, "INFO KV Transfer metrics: GPU_to_CPU_total_bytes=4096, x=1"]),
    ("not_ours", [ENGINE, CONNECTOR.replace("LMCacheConnectorV1", "NixlConnector"), READY]),
    ("out_of_ram", [START, READY, *works("a"), "Killed"]),
    (
        "hybrid_in_mp",
        [
            ENGINE,
            "INFO 11-29 [model.py:560] Resolved architecture: Qwen3NextForCausalLM",
            CONNECTOR.replace("LMCacheConnectorV1", "LMCacheMPConnector"),
            "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%, External prefix cache hit rate: 18.9%",
        ],
    ),
]
