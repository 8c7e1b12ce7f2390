"""What a line says is found wherever it stands: behind any prefix, in any block, in any form of its version."""

import io
import json
from collections.abc import Callable

import pytest

from kvtiers.logs.read import read_log, read_log_text
from kvtiers.logs.requests import Kind
from kvtiers.logs.scan import events_of
from kvtiers.logs.warnings import WARNINGS
from tests.core.logs.builders import (
    CONNECTOR,
    DATA,
    ENGINE,
    REAL,
    START,
    STOP,
    diagnose,
    info,
    lookup,
    retrieved,
    stored,
    warning,
)

# name -> forms of its line, by version
VLLM_LINES = {
    "banner": [
        "(APIServer pid=5) INFO 08-02 10:00:00 [api_utils.py:330]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0",
        "INFO 08-05 10:00:01 [api_server.py:1896] vLLM API server version 0.10.1",
    ],
    "engine": [ENGINE],
    "connector": [CONNECTOR],
    "pool_tokens": [
        "INFO 11-29 [kv_cache_utils.py:1] CPU KV cache size: 2,816 tokens, Maximum concurrency for 2,688 tokens per x",
        "INFO 11-29 [kv_cache_utils.py:1] GPU KV cache size: 43,296 tokens",
    ],
    "ready": ["(APIServer pid=1) INFO:     Application startup complete."],
    "stopping": [STOP[0], "INFO:     Shutting down"],
    "rates": [
        "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%, External prefix cache hit rate: 18.9%",
        "INFO 11-29 [loggers.py:1] Engine 000: Prefix cache hit rate: 22.1%",
    ],
}


@pytest.mark.parametrize("name", VLLM_LINES)
def test_every_form_of_vllms_lines_is_found(name: str) -> None:
    for line in VLLM_LINES[name]:
        said = [event for event in events_of(f"nothing\n{line}\nnothing\n".encode()) if event[0] != "process"]
        assert [event[0] for event in said] == [name]


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
def test_where_a_log_stands_does_not_matter(number: int, keep: Callable[[str], str]) -> None:
    """Blocks of a long file, or lines as docker keeps them."""
    whole, text = read_log_text(WHOLE_LOGS[number]), keep(WHOLE_LOGS[number])
    log = read_log(io.BytesIO(("nothing\n" * 40_000 + text).encode()), "log")
    assert log.finished == whole.finished
    assert {name: log.warnings[name] for name in WARNINGS} == {name: whole.warnings[name] for name in WARNINGS}
    assert (log.start.settings, log.start.connectors) == (whole.start.settings, whole.start.connectors)


def test_messages_alone_in_json_are_read_to_the_end_of_a_long_log() -> None:
    """Structured logs keep the message and leave LMCache's own prefix out."""

    def record(message: str, level: str = "INFO") -> str:
        return json.dumps({"ts": "2026-11-29T14:06:56Z", "level": level, "message": message})

    bare = [line.partition(": ")[2] for line in (lookup("r", hit=1280, load=1280), retrieved("r"))]
    text = "\n".join([record("nothing")] * 10_000 + [record(line) for line in bare] + [record("Lost it", "error")])
    log = read_log(io.BytesIO(text.encode()), "log")
    assert [request.kind for request in log.finished] == [Kind.TIER_HIT]
    assert [error.said for error in log.start.errors] == ["Lost it"]


@pytest.mark.parametrize("escape", ["\x1b", "\\u001b", "\\x1b", "#033", "^["])
def test_an_error_is_read_whatever_became_of_its_colours(escape: str) -> None:
    line = (
        f"{escape}[31;20m[2026-05-23 15:24:54,249] LMCache ERROR:{escape}[0m The moon is full {escape}[3m(moon.py:7:m)"
    )
    (error,) = read_log_text(line).start.errors
    assert error.said == "The moon is full"


def test_the_first_cause_is_found_in_a_traceback_of_one_line() -> None:
    line = json.dumps({"level": "ERROR", "message": "It failed.\nTraceback:\n  File x\nValueError: no such thing"})
    assert diagnose(line).conclusion.values["line"] == "ValueError: no such thing"


def test_what_a_user_asked_is_no_error() -> None:
    prompt = "INFO 11-29 10:00:00 [logger.py:39] Received request r: prompt: 'ERROR: ValueError: CUDA out of memory'"
    text = "\n".join([START, prompt, lookup("b", hit=1280, load=1280), retrieved("b")])
    assert diagnose(text).problems == ()


@pytest.mark.parametrize(
    "joined",
    [
        lambda lines: json.dumps([{"message": line, "severity": "INFO"} for line in lines]),
        lambda lines: json.dumps([{"textPayload": line} for line in lines], separators=(",", ":")),
        "\r".join,
        "\r\n".join,
        "\\n".join,
    ],
    ids=["array", "compact", "cr", "crlf", "escaped"],
)
def test_lines_are_told_apart_whatever_became_of_their_ends(joined: Callable[[list[str]], str]) -> None:
    whole = diagnose(REAL.read_text())
    read = diagnose(joined(REAL.read_text().splitlines()))
    assert [request.kind for request in read.log.finished] == [request.kind for request in whole.log.finished]
    assert (read.conclusion.id, read.log.not_read) == (whole.conclusion.id, 0)


def test_lookups_lost_on_one_line_are_counted_and_nothing_is_concluded_from_the_rest() -> None:
    log = diagnose(" ".join(line.strip() for line in REAL.read_text().splitlines()))
    assert (log.log.not_read, log.conclusion.id) == (14, "not_read")


@pytest.mark.parametrize(
    "said",
    [
        "Successfully installed lmcache-0.5.6 x-1",
        *(
            "Requirement already satisfied: lmcache==0.5.6 in /usr/lib",
            "Requirement already satisfied: lmcache in /x (0.5.6)",
        ),
        *(" + lmcache==0.5.6", "lmcache==0.5.6", "lmcache                  0.5.6", "Collecting lmcache==0.5.6"),
        *("Downloading lmcache-0.5.6-cp312-manylinux.whl (9 MB)", "Status: Downloaded lmcache/vllm-openai:v0.5.6"),
    ],
)
@pytest.mark.parametrize("vllm", [ENGINE, 'Pulled  Container image "vllm/vllm-openai:v0.32.0" already present'])
def test_versions_are_read_where_images_and_packages_name_them(said: str, vllm: str) -> None:
    lines = [said, vllm.replace("=cpu", "=cuda"), CONNECTOR, lookup("r", hit=1280, load=1280), retrieved("r")]
    values = diagnose("\n".join(lines)).conclusion.values
    assert (values["vllm"], values["lmcache"]) == ("0.32.0", "0.5.6")


def test_lookups_that_are_not_understood_are_counted() -> None:
    text = "\n".join([lookup("a"), info("Reqid: b, Total tokens 1330, a form of another version")])
    assert read_log_text(text).not_read == 1


def test_a_known_warning_of_a_stopped_server_is_no_failure() -> None:
    text = "\n".join([START, lookup("b", hit=1280, load=1280), retrieved("b"), *STOP, warning("x closing", "ERROR")])
    assert diagnose(text).problems == ()


def test_an_optional_module_that_is_not_there_is_no_failure() -> None:
    """vLLM says so at healthy starts of builds without CUDA."""
    missing = (
        "WARNING 11-29 [interface.py:221] Failed to import vllm._C: ModuleNotFoundError(\"No module named 'vllm._C'\")"
    )
    text = "\n".join([START, missing, lookup("b", hit=1280, load=1280), retrieved("b")])
    assert diagnose(text).problems == ()
