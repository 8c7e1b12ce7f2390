"""Lines of logs, as the engines' format strings make them."""

from pathlib import Path

from kvtiers.logs.diagnosis import Diagnosis, conclude
from kvtiers.logs.read import read_log_text

DATA = Path(__file__).parents[1] / "data" / "logs"

REAL = Path(__file__).parents[3] / "lab" / "results" / "reference" / "cpu-tiny.log"

STAMP = "[2026-11-29 14:06:{0:02d},{1:03d}] LMCache {2}: {3}"


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


ENGINE = (
    "(EngineCore pid=7) INFO 11-29 15:17:55 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: "
    "device_config=cpu"
)

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


def warning(message: str, level: str = "WARNING") -> str:
    return info(message, level=level)


def vllm_error(message: str) -> str:
    return f"(EngineCore pid=7) ERROR 11-29 10:00:00 [core.py:1100] {message}"


FAILING = (
    "(EngineCore pid=9) ERROR 11-29 10:00:00 [scheduler.py:1] Failing 2 request(s) due to KV load failure "
    "(failure_policy=fail, 512 tokens affected). Request IDs: {'a'}"
)

RECOVERED = (
    "(EngineCore pid=9) WARNING 11-29 10:00:00 [scheduler.py:1] Recovered from KV load failure: 1 request(s) "
    "rescheduled (512 tokens affected)."
)

# A log is read in blocks: what goes before the lines to put them into a later one.
LONG_HEAD = "nothing\n" * 40_000
