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
    warning,
)

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
            ENGINE.replace("0.32.0", "0.11.0"),
            info(
                "LMCache initialized for role KVConnectorRole.WORKER with version 0.3.8, vllm version 0.11.0, lmcache x"
            ),
        ],
    ),
    (
        "known_bad_pair",
        [
            ENGINE.replace("config: x", "config: model='m', device_config=cuda, seed=0"),
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
    ("prompts_differ", [START, lookup("a"), stored("a"), lookup("b"), stored("b")]),
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
        "no_reuse",
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
]
