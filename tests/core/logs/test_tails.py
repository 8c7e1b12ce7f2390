"""A log that worked and then says, in whatever form, that something failed never \"works\"; nor does a start."""

import json

import pytest

from kvtiers.logs.read import read_log_text
from tests.core.logs.builders import REAL, START, STOP, diagnose, info, lookup, retrieved

WORKED = "\n".join([START, lookup("b", hit=1280, load=1280), retrieved("b")])
DIED = "engine core exited unexpectedly"
TAILS = [
    # the system
    *("Segmentation fault", "Bus error", "Illegal instruction", "free(): invalid pointer", "Aborted"),
    *("double free or corruption (out)", "*** SIGSEGV received at time=1 on cpu 3 ***"),
    "*** stack smashing detected ***: terminated",
    *("vllm-1 exited with code 1", "vllm-1 exited with code 139", "vllm-1  | vllm-1 exited with code 2"),
    "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: A process of this unit has been killed by the OOM killer.",
    "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE",
    "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Main process exited, code=killed, status=6/ABRT",
    "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Failed with result 'oom-kill'.",
    "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Failed with result 'exit-code'.",
    "[12345.678] Memory cgroup out of memory: Killed process 1234 (VLLM::Worker_TP) total-vm:1kB",
    "[ 123.4] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
    *("      Reason:    OOMKilled", "      Exit Code: 1", "      Exit Code:    139"),
    "Warning  BackOff  2m (x10)  kubelet  Back-off restarting failed container vllm in pod vllm-0",
    "vllm-0   0/1   CrashLoopBackOff   7   12m",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
    # the command
    *("/bin/bash: line 1: vllm: command not found", "/usr/bin/python3: No module named vllm"),
    "vllm serve: error: unrecognized arguments: --kv-transfer-confg",
    "vllm-1  | vllm: error: argument --kv-transfer-config: Value x cannot be converted to <function loads>.",
    "lmcache server: error: argument --l1-size-gb: invalid float value: 'x'",
    # levels
    *(f"FATAL: {DIED}", f"error: {DIED}", f"CRITICAL 11-30 12:00:01 [core.py:1] {DIED}"),
    f"2026-11-30 12:00:01.123 | CRITICAL | vllm:main:10 - {DIED}",
    info("A tier is lost", level="CRITICAL"),
    *(f'time="2026-11-30T12:00:01Z" level={level} msg="{DIED}"' for level in ("error", "fatal", "panic")),
    "E0905 14:46:37.882854 17930 store_py.cpp:1036] Something failed with error: RPC_FAIL",
    "F0905 14:46:37.882854 17930 client.cc:12] Check failed: ptr",
    "[rank0]:[E1130 12:00:01.123456 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout",
    *(json.dumps({field: "error", "event": DIED}) for field in ("level", "log_level", "log.level", "severityText")),
    *(json.dumps({"level": number, "time": 1, "msg": DIED}, separators=(",", ":")) for number in (50, 60)),
    json.dumps({"severity": "CRITICAL", "textPayload": DIED}),
    *(
        json.dumps({"level": "info", "msg": f"{own} 11-30 12:00:00 [core.py:1] x: boom"})
        for own in ("ERROR", "CRITICAL")
    ),
    json.dumps({"level": "info", "msg": info("A tier is lost", level="ERROR")}),
    json.dumps({"level": "info", "msg": "It broke\nTraceback (most recent call last):\nValueError: no"}),
    # exceptions and what says that a process ends
    *("SystemExit: 1", "torch._dynamo.exc.Unsupported: call_method", "thread 'x' panicked at src/lib.rs:10:5:"),
    *("panic: runtime error: index out of range", "terminate called without an active exception"),
    *("what():  CUDA error: an illegal memory access was encountered", "EngineCore failed to start."),
    "(EngineCore pid=3) Process EngineCore:",
    "(APIServer pid=1) INFO 11-30 12:00:00 [launcher.py:1] Server failed to start: address already in use",
    "(APIServer pid=1) WARNING 11-30 12:00:00 [core_client.py:1] EngineCore died unexpectedly",
    'INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 503 Service Unavailable',
    # the store
    info("put failed for key abc: Connection refused"),
    "E0905 14:46:37.882854 17930 store_py.cpp:1036] Put operation failed with error: RPC_FAIL",
    "Could not connect to Redis at 10.0.0.5:6379: Connection refused",
]


@pytest.mark.parametrize("before", [WORKED, START], ids=["worked", "started"])
@pytest.mark.parametrize("tail", TAILS)
def test_what_fails_at_the_end_is_a_problem(before: str, tail: str) -> None:
    assert diagnose(f"{before}\n{tail}\n").exit_status == 1


@pytest.mark.parametrize(
    "tail",
    [
        *("vllm-1 exited with code 0", "vllm-1 exited with code 143", "KeyboardInterrupt", "      Exit Code:    0"),
        "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Main process exited, code=killed, status=15/TERM",
        "(EngineCore pid=3) INFO 11-30 12:00:00 [x.py:1] error rate 0, level=critical, 0 puts failed",
        info("Started PeriodicThread: PinMonitor-thread (level=CRITICAL, interval=30.0s)"),
        "> " + info("Started PeriodicThread: PinMonitor-thread (level=CRITICAL, interval=30.0s)"),
        "I0905 14:46:37.882854 17930 store_py.cpp:1036] Put operation done",
        'time="2026-11-30T12:00:01Z" level=info msg="no error: all is well"',
        '{"level":30,"time":1,"msg":"no \\"error\\" here"}',
        "INFO 11-29 [logger.py:39] Received request r: prompt: 'put failed, Server failed to start', params: x",
        'INFO:     127.0.0.1:5000 - "POST /v1/completions HTTP/1.1" 400 Bad Request',
    ],
)
def test_what_is_no_failure_is_no_problem(tail: str) -> None:
    assert diagnose(f"{WORKED}\n{tail}\n").problems == ()


@pytest.mark.parametrize(
    "tail",
    [
        "(EngineCore pid=7) ERROR 11-30 12:00:00 [core.py:1] Failed to close L2: 312 of 400 chunks were not written",
        "RuntimeError: terminated before flush, KV lost",
        "vllm serve: error: argument --max-model-len: invalid int value: '8k'",
        "Nov 30 12:00:01 gpu1 systemd[1]: vllm.service: Failed with result 'oom-kill'.",
    ],
)
def test_a_stop_excuses_only_what_every_stop_says(tail: str) -> None:
    assert diagnose("\n".join([WORKED, *STOP, tail])).exit_status == 1


def test_a_collector_that_marks_all_of_stderr_as_errors_is_not_believed() -> None:
    """The lines' own levels count, and lines without one are no errors there."""
    lines = [json.dumps({"severity": "ERROR", "textPayload": line}) for line in REAL.read_text().splitlines()]
    progress = json.dumps({"severity": "ERROR", "textPayload": "Loading safetensors checkpoint shards: 50%"})
    for where in (0, len(lines) // 2, len(lines)):
        text = "\n".join([*lines[:where], progress, *lines[where:]])
        assert diagnose(text).problems == ()
        assert not any("Loading" in name for name in read_log_text(text).warnings)
    boom = json.dumps({"severity": "ERROR", "textPayload": "(EngineCore pid=3) ERROR 11-30 [core.py:1] boom"})
    assert diagnose("\n".join([*lines[:200], boom, *lines[200:]])).exit_status == 1


def test_a_request_behind_a_stop_is_another_lifes_and_so_is_what_fails_then() -> None:
    """Where the other life's start is lost."""
    again = [lookup("c", hit=1280, load=1280), retrieved("c")]
    dead = "(APIServer pid=2) ERROR 11-29 11:40:54 [async_llm.py:906] AsyncLLM output_handler failed."
    assert diagnose("\n".join([WORKED, *STOP, dead])).exit_status == 0
    assert diagnose("\n".join([WORKED, *STOP, *again, dead])).exit_status == 1
