"""Real logs are judged right, line by line; every known form is read; nothing in a log raises."""

import gzip
import io
import json
import os
import threading
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.logs.diagnosis import Diagnosis, conclude
from kvtiers.logs.read import read_log, read_log_file, read_log_text
from kvtiers.logs.scan import SETTINGS as SETTINGS_SHOWN
from kvtiers.logs.scan import VLLM, Scanner, events_of_lines
from kvtiers.logs.state import Kind, Log
from kvtiers.logs.warnings import IN_TRACEBACKS, WARNINGS
from kvtiers.words import LANGUAGES, all_texts

DATA = Path(__file__).parent / "data" / "logs"
REAL = Path(__file__).parents[2] / "lab" / "results" / "reference" / "cpu-tiny.log"
STAMP = "[2026-11-29 14:06:{0:02d},{1:03d}] LMCache {2}: {3}"
FUZZ_DEADLINE = timedelta(seconds=3)  # one input; the machine may be busy


def diagnose(text: str) -> Diagnosis:
    return conclude(read_log_text(text))


def info(message: str, second: int = 0, level: str = "INFO") -> str:
    return STAMP.format(second, 0, level, message)


def lookup(request: str, *, total: int = 1330, computed: int = 0, hit: int = 0, load: int = 0) -> str:
    return info(
        f"Reqid: {request}, Total tokens {total}, Inference Engine computed tokens: {computed}, "
        f"LMCache hit tokens: {hit}, need to load: {load}"
    )


def stored(request: str, tokens: int = 1280, second: int = 1) -> str:
    return info(
        f"[req_id={request}] Stored {tokens} out of total {tokens} tokens. size: 0.0195 GB, cost 5.8118 ms, "
        "throughput: 3.3606 GB/s; offload_time: 4.9879 ms, put_time: 0.7646 ms",
        second,
    )


def retrieved(request: str, tokens: int = 1280, required: int = 1280, cost_ms: float = 16.0) -> str:
    return info(
        f"[req_id={request}] Retrieved {tokens} out of {required} required tokens (from {tokens} total tokens). "
        f"size: 0.0195 gb, cost {cost_ms:.4f} ms, throughput: 1.2009 GB/s;"
    )


ENGINE = "(EngineCore pid=7) INFO 11-29 15:17:55 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: x"
CONNECTOR = "(EngineCore pid=7) INFO 11-29 15:17:58 [factory.py:62] Creating v1 connector with name: LMCacheConnectorV1"
SETTINGS = info(
    "Creating LMCacheEngine with config: {'chunk_size': 256, 'local_cpu': False, 'max_local_cpu_size': 2.0, "
    "'local_disk': '/mnt/kv', 'max_local_disk_size': 9.0, 'pd_allocation_timeout_sec': inf}"
)
DISK = info("Created backend: LocalDiskBackend (LocalDiskBackend)")
START = "\n".join([ENGINE, CONNECTOR, SETTINGS, DISK])
REMOTE = "\n".join(
    [ENGINE, CONNECTOR, SETTINGS.replace("'/mnt/kv'", "None"), info("Created backend: RemoteBackend (x)")]
)
STOP = (
    "(APIServer pid=1) INFO 11-29 17:27:08 [launcher.py:254] [shutdown] API server: shutdown triggered",
    "(APIServer pid=1) ERROR 11-29 17:27:08 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore x",
)


def test_the_labs_own_run_line_by_line() -> None:
    """Cold, hit at once, two others, from disk: three times over, as the lab asks."""
    with REAL.open("rb") as stream:
        log, _ = read_log(stream, "log")
    round_of_kinds = [Kind.COLD, Kind.ENGINE_HIT, Kind.COLD, Kind.COLD, Kind.TIER_HIT]
    assert [request.kind for request in log.finished] == round_of_kinds * (len(log.finished) // 5)
    assert len(log.finished) == REAL.read_text().count("Reqid: ")
    for request in log.finished:
        expected = {
            Kind.COLD: (0, 0, 0, 1280, 0),
            Kind.ENGINE_HIT: (1280, 1280, 0, 0, 0),
            Kind.TIER_HIT: (0, 1280, 1280, 0, 1280),
        }[request.kind]
        assert (request.computed, request.hit, request.load, request.stored, request.retrieved) == expected
    diagnosis = conclude(log)
    assert (diagnosis.verdict.id, diagnosis.problems) == ("works", ())
    assert (log.start.vllm, log.start.connector) == ("0.32.0", "LMCacheCPUConnectorV1")
    assert log.start.backends == {"LocalCPUBackend", "LocalDiskBackend"}
    assert diagnosis.speeds.ceiling is not None
    assert diagnosis.speeds.ceiling > 10


@pytest.mark.parametrize(
    ("name", "verdict", "status"),
    [
        ("limit0", "no_disk_tier", 1),
        ("degraded", "degraded", 1),
        ("builtin", "works", 0),
        ("cpu", "works", 0),
        ("short", "too_short", 1),
    ],
)
def test_logs_of_real_faults(name: str, verdict: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--json", str(DATA / f"{name}.log")]) == status
    assert json.loads(capsys.readouterr().out)["verdict"]["id"] == verdict


KINDS = [
    ("cold", [lookup("r"), stored("r")], Kind.COLD),
    ("engine hit", [lookup("r", computed=1280, hit=1280)], Kind.ENGINE_HIT),
    ("tier hit", [lookup("r", hit=1280, load=1280), retrieved("r")], Kind.TIER_HIT),
    ("both", [lookup("r", computed=512, hit=1280, load=768), retrieved("r", 768, 768)], Kind.PARTIAL),
    ("plan only", [lookup("r", hit=1280, load=1280)], Kind.UNPROVEN),
    ("short", [lookup("r", total=200)], Kind.TOO_SHORT),
    ("stored before", [lookup("a"), stored("a"), lookup("r", computed=1280)], Kind.MISSED_STORED),
    (
        "below minimum",
        [
            "Reqid: r, Total tokens 300, Inference Engine computed tokens: 128, LMCache hit tokens: 256, but need to "
            "load: 128 < min_retrieve 256, skip retrieve but record for save skip"
        ],
        Kind.SKIPPED,
    ),
    ("fewer than promised", [lookup("r", hit=1280, load=1280), retrieved("r", 512)], Kind.FAILED_LOAD),
    (
        "blocks lost",
        [
            lookup("r", hit=1280, load=1280),
            info("Request r failed to load 256 tokens across 2 blocks", level="WARNING"),
        ],
        Kind.FAILED_LOAD,
    ),
    (
        "glued message",
        [
            lookup("r", hit=1280, load=1280),
            info("Request rThe number of retrieved tokens is less than the expected number of tokens!", level="ERROR"),
        ],
        Kind.FAILED_LOAD,
    ),
    (
        "before the C field",
        ["Reqid: r, Total tokens 1330, LMCache hit tokens: 1280, need to load: -1"],
        Kind.ENGINE_HIT,
    ),
    (
        "before request ids in transfers",
        [
            "Reqid: r, Total tokens 1330, LMCache hit tokens: 1280, need to load: 1280",
            "Retrieved 1280 out of 1280 required tokens (from 1280 total tokens). size: 0.0195 gb, cost 16.2 ms",
        ],
        Kind.TIER_HIT,
    ),
    (
        "layerwise",
        [lookup("r", hit=1280, load=1280), info("[req_id=r] Retrieved 1280 out of 1280 out of total 1330 tokens")],
        Kind.TIER_HIT,
    ),
    ("polled", [lookup("r"), lookup("r", hit=1280, load=1280), retrieved("r")], Kind.TIER_HIT),
    (
        "asynchronous",
        ["Reqid: r, LMCache hit tokens: None.", lookup("r", hit=1280, load=1280), retrieved("r")],
        Kind.TIER_HIT,
    ),
    ("MP mode", ["<resume-load> req=r apc=0 lmcache=1280 load=1280"], Kind.UNPROVEN),
]


@pytest.mark.parametrize(("lines", "kind"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS])
def test_what_a_request_was(lines: list[str], kind: Kind) -> None:
    assert read_log_text("\n".join(lines)).finished[-1].kind is kind


def warning(message: str, level: str = "WARNING") -> str:
    return info(message, level=level)


FAILING = (
    "(EngineCore pid=9) ERROR 11-29 10:00:00 [scheduler.py:1] Failing 2 request(s) due to KV load failure "
    "(failure_policy=fail, 512 tokens affected). Request IDs: {'a'}"
)
RECOVERED = (
    "(EngineCore pid=9) WARNING 11-29 10:00:00 [scheduler.py:1] Recovered from KV load failure: 1 request(s) "
    "rescheduled (512 tokens affected)."
)
VERDICTS = [
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


@pytest.mark.parametrize(("verdict", "lines"), VERDICTS, ids=[name for name, _ in VERDICTS])
@pytest.mark.parametrize("prefix", ["", "vllm-1  | ", "Nov 29 14:06:56 host vllm[812]: ", "2026-11-29T14:06:56.123Z "])
def test_verdicts_whatever_stands_before_the_lines(verdict: str, lines: list[str], prefix: str) -> None:
    text = "\n".join(prefix + line for part in lines for line in part.splitlines())
    assert diagnose(text).verdict.id == verdict


# Only the head of a log is read line by line: what goes before the lines to put them behind it.
LONG_HEAD = "Traceback (most recent call last):\n" + "nothing\n" * 40_000


@pytest.mark.parametrize(("verdict", "lines"), VERDICTS, ids=[name for name, _ in VERDICTS])
def test_the_verdict_does_not_hang_on_how_much_stands_before(verdict: str, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    log, _ = read_log(io.BytesIO((LONG_HEAD + text).encode()), "log")
    assert conclude(log).verdict == diagnose(text).verdict


# name -> forms of its line, by version
VLLM_LINES = {
    "engine": [ENGINE],
    "connector": [CONNECTOR],
    "pool": [
        "INFO 11-29 [kv_cache_utils.py:1] CPU KV cache size: 2,816 tokens, Maximum concurrency for 2,688 tokens per x",
        "INFO 11-29 [kv_cache_utils.py:1] GPU KV cache size: 43,296 tokens",
    ],
    "ready": ["(APIServer pid=1) INFO:     Application startup complete."],
    "stopping": [STOP[0]],
    "rates": [
        "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%, External prefix cache hit rate: 18.9%",
        "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%",
    ],
}


@pytest.mark.parametrize("name", VLLM)
def test_every_form_of_vllms_lines_is_found_by_either_search(name: str) -> None:
    for line in VLLM_LINES[name]:
        (event,) = events_of_lines(line)
        assert event[0] == name
        assert Scanner().events(f"nothing\n{line}\nnothing\n".encode()) == [event]


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
}


@pytest.mark.parametrize("name", WARNINGS)
@pytest.mark.parametrize("before", ["", LONG_HEAD], ids=["head", "deep"])
def test_every_warning_is_known_by_its_line(name: str, before: str) -> None:
    """In a short paste, and deep in a long log."""
    line = WARNING_LINES[name]
    log, _ = read_log(io.BytesIO(f"{before}{line}\n".encode()), "log")
    assert log.warnings == {name: 1}
    assert log.samples[name] == line.strip()


def test_every_kind_has_a_log() -> None:
    assert {kind for _, _, kind in KINDS} == set(Kind)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_verdict_kind_and_warning_has_words(language: str) -> None:
    texts = all_texts(language)["log"]
    assert set(texts["verdict"]) == {name for name, _ in VERDICTS}
    assert set(texts["kind"]) == {kind.value for kind in Kind}
    assert set(texts["warning"]) == set(WARNINGS)
    for _, lines in VERDICTS:
        verdict = diagnose("\n".join(lines)).verdict
        assert verdict.what(language)
        assert verdict.next_step(language)


def test_colours_do_not_matter() -> None:
    plain = "\n".join([START, lookup("a"), stored("a", second=2), lookup("b", hit=1280, load=1280), retrieved("b")])
    coloured = plain.replace("LMCache INFO: ", "LMCache INFO:\x1b[0m ").replace("[2026", "\x1b[32;20m[2026")
    assert diagnose(coloured).verdict == diagnose(plain).verdict


WHOLE_LOGS = [path.read_text(errors="replace") for path in (REAL, *sorted(DATA.glob("*.log")))]


def as_docker_keeps_it(text: str) -> str:
    lines = ({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-29T14:06:56Z"} for line in text.splitlines())
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize("keep", [str, as_docker_keeps_it], ids=["plain", "docker"])
@pytest.mark.parametrize("number", range(len(WHOLE_LOGS)))
def test_the_quick_search_finds_what_reading_every_line_finds(number: int, keep: Callable[[str], str]) -> None:
    """Only the head of a log is read line by line: put one there that says nothing."""
    whole, text = read_log_text(WHOLE_LOGS[number]), keep(WHOLE_LOGS[number])
    log, _ = read_log(io.BytesIO(("nothing\n" * 40_000 + text).encode()), "log")
    assert log.finished == whole.finished
    assert {name: log.warnings[name] for name in WARNINGS} == {name: whole.warnings[name] for name in WARNINGS}
    assert log.start == whole.start


def test_errors_without_lmcaches_level_are_found_in_the_middle_of_a_log() -> None:
    """Python's and vLLM's own, as long as a traceback or vLLM's words announce them."""
    lines = [
        "Traceback (most recent call last):",
        '  File "vllm_v1_adapter.py", line 1, in request_finished',
        "    assert self.lmcache_engine is not None",
        "AssertionError",
        *[f"{WARNINGS[name]} x" for name in IN_TRACEBACKS],
        "(EngineCore pid=9) ERROR 11-29 10:00:00 [scheduler.py:1] Failing 2 request(s) due to KV load failure (x)",
    ]
    log, _ = read_log(io.BytesIO(("nothing\n" * 40_000 + "\n".join(lines)).encode()), "log")
    assert {"abort_crash", "kv_load_failure", *IN_TRACEBACKS} <= set(log.warnings)


@pytest.mark.parametrize("data", [REAL.read_bytes(), gzip.compress(REAL.read_bytes())], ids=["plain", "gzip"])
def test_a_pipe_is_read(data: bytes, tmp_path: Path) -> None:
    """``diagnose <(zcat log)``: what cannot be read twice."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    log, cut_off = read_log_file(path)
    writer.join()
    assert (len(log.finished), cut_off) == (15, False)


def test_gzip_and_a_gzip_cut_off() -> None:
    packed = gzip.compress(REAL.read_bytes() + b"".join(b"%d\n" % number for number in range(200_000)))
    whole, cut_off = read_log(io.BytesIO(packed), "log.gz")
    assert not cut_off
    part, cut_off = read_log(io.BytesIO(packed[:-20_000]), "log.gz")
    assert cut_off
    assert part.finished == whole.finished


def test_a_short_gzip_cut_off_gives_what_is_left_of_it() -> None:
    packed = gzip.compress(REAL.read_bytes())
    log, cut_off = read_log(io.BytesIO(packed[:-200]), "log.gz")
    assert cut_off
    assert log.finished


def test_a_gzip_of_several_members_is_read_to_its_end() -> None:
    half = len(REAL.read_bytes()) // 2
    members = gzip.compress(REAL.read_bytes()[:half]) + b"\0\0" + gzip.compress(REAL.read_bytes()[half:])
    log, cut_off = read_log(io.BytesIO(members), "log.gz")
    assert not cut_off
    assert len(log.finished) == 15


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\x7fELF\0\0\0", "not a text log"),
        ("Reqid".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\0broken", "damaged|no line"),
        (b"hello\nworld\n", "no line of vLLM or LMCache"),
    ],
)
def test_what_is_no_log_is_refused_in_plain_words(data: bytes, message: str) -> None:
    with pytest.raises(KvtiersError, match=message):
        read_log(io.BytesIO(data), "file")


@pytest.mark.parametrize("shown", ["0", "2", "100"])
def test_the_verdict_does_not_hang_on_how_many_requests_are_shown(
    shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", "--json", "--requests", shown, str(REAL)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"]["id"], len(said["last_requests"])) == ("works", min(int(shown), 15))


def test_passwords_in_addresses_are_not_repeated() -> None:
    log = read_log_text(warning("Failed to connect to redis://user:hunter22@cache:6379/0"))
    assert "hunter" not in f"{log.samples} {log.warnings}"
    assert "cache:6379" in str(log.samples)


def test_memory_does_not_grow_with_the_log() -> None:
    once = REAL.read_bytes()

    class Endless(io.RawIOBase):
        left = 400

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            number = str(self.left).encode()
            return once.replace(b"kvtiers-", b"kvtiers-" + number + b"-") if self.left > 0 else b""

    tracemalloc.start()
    read_log(Endless(), "log", keep=20)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def read_any(text: str) -> Log | None:
    try:
        return read_log_text(text)
    except KvtiersError:
        return None


@settings(deadline=FUZZ_DEADLINE)
@given(st.text(max_size=400))
def test_any_text_is_read_or_is_no_log(text: str) -> None:
    log = read_any(text)
    assert log is None or conclude(log).verdict.what()


@pytest.mark.parametrize("value", ["'many'", "[1]", "1e999", "{'a': 1}", "{1, 2}", "b'x'", "-5", "[b'x']"])
@pytest.mark.parametrize("name", SETTINGS_SHOWN)
def test_a_damaged_setting_never_raises(name: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    config = info(f"Creating LMCacheEngine with config: {{'local_disk': '/mnt/kv', '{name}': {value}}}")
    path.write_text("\n".join([ENGINE, config, lookup("a", total=100)]))
    for form in ([], ["--json"]):
        assert main(["diagnose", *form, str(path)]) in (0, 1)


LINES = [line for _, lines in VERDICTS for part in lines for line in part.splitlines()]


@settings(deadline=FUZZ_DEADLINE)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
def test_damaged_lines_never_raise(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    text = text[:start] + data.draw(st.text(max_size=5)) + text[start + data.draw(st.integers(0, 30)) :]
    log = read_any(text)
    for language in LANGUAGES if log else ():
        diagnosis = conclude(log)  # type: ignore[arg-type]
        assert all(problem.what(language) for problem in (*diagnosis.problems, diagnosis.verdict))


@settings(deadline=FUZZ_DEADLINE)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    refused = ""
    try:
        read_log(io.BytesIO(data), "file")
    except KvtiersError as error:
        refused = str(error)
    assert not refused or "file" in refused


def test_the_command_reads_files_and_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(REAL)]) == 0
    said = capsys.readouterr().out
    assert "[works]" in said
    assert "tier hit" in said
    assert main(["diagnose", "--language", "zh-TW", str(DATA / "limit0.log")]) == 1
    assert "磁碟層" in capsys.readouterr().out
    assert main(["diagnose", str(tmp_path / "none.log")]) == 2


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REAL.read_bytes())))
    assert main(["diagnose", "-", "-"]) == 2
    assert "standard input can be read once" in capsys.readouterr().err
    assert main(["diagnose", "-"]) == 0


def test_json_is_in_one_language() -> None:
    """What is known of a pair of versions is known in each language."""
    (lines,) = (lines for name, lines in VERDICTS if name == "known_bad_pair")
    verdict = diagnose("\n".join(lines)).verdict
    said = {language: verdict.to_json(language)["values"]["what"] for language in LANGUAGES}
    assert said["en"] != said["zh-TW"]
    assert all(what in verdict.what(language) for language, what in said.items())
