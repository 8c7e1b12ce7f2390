"""The quick search finds what reading every line finds."""

import io
import json
from collections.abc import Callable

import pytest

from kvtiers.logs.read import read_log, read_log_text
from kvtiers.logs.scan import VLLM, Scanner, events_of_lines
from kvtiers.logs.warnings import IN_TRACEBACKS, WARNINGS
from tests.core.logs.builders import CONNECTOR, DATA, ENGINE, REAL, START, STOP, diagnose, lookup, retrieved, stored

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


def test_colours_do_not_matter() -> None:
    plain = "\n".join([START, lookup("a"), stored("a", second=2), lookup("b", hit=1280, load=1280), retrieved("b")])
    coloured = plain.replace("LMCache INFO: ", "LMCache INFO:\x1b[0m ").replace("[2026", "\x1b[32;20m[2026")
    assert diagnose(coloured).conclusion == diagnose(plain).conclusion


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
