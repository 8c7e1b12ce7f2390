"""What is wrong in a log, or what went well, from its lines."""

import io

import pytest

from kvtiers.logs.diagnosis import conclude
from kvtiers.logs.read import read_log
from kvtiers.logs.requests import Kind
from kvtiers.words import LANGUAGES, all_texts
from tests.core.logs.builders import (
    CONNECTOR,
    ENGINE,
    LONG_HEAD,
    REAL,
    diagnose,
    info,
    lookup,
    retrieved,
    stored,
    vllm_error,
)
from tests.core.logs.conclusions import CONCLUSIONS


def test_the_labs_own_run_line_by_line() -> None:
    """Cold, hit at once, two others, from disk: three times over, as the lab asks."""
    with REAL.open("rb") as stream:
        log = read_log(stream, "log")
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
    assert (diagnosis.conclusion.id, diagnosis.problems) == ("works", ())
    assert (log.start.vllm, log.start.connector) == ("0.32.0", "LMCacheCPUConnectorV1")
    assert log.start.backends == {"LocalCPUBackend", "LocalDiskBackend"}
    assert diagnosis.log.ceiling is not None
    assert diagnosis.log.ceiling > 10


@pytest.mark.parametrize(("conclusion", "lines"), CONCLUSIONS, ids=[name for name, _ in CONCLUSIONS])
@pytest.mark.parametrize("prefix", ["", "vllm-1  | ", "Nov 29 14:06:56 host vllm[812]: ", "2026-11-29T14:06:56.123Z "])
def test_conclusions_whatever_stands_before_the_lines(conclusion: str, lines: list[str], prefix: str) -> None:
    text = "\n".join(prefix + line for part in lines for line in part.splitlines())
    assert diagnose(text).conclusion.id == conclusion


@pytest.mark.parametrize(("conclusion", "lines"), CONCLUSIONS, ids=[name for name, _ in CONCLUSIONS])
def test_the_conclusion_does_not_hang_on_how_much_stands_before(conclusion: str, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    log = read_log(io.BytesIO((LONG_HEAD + text).encode()), "log")
    assert conclude(log).conclusion == diagnose(text).conclusion


@pytest.mark.parametrize(
    ("device", "connector", "is_bad"),
    [
        ("cuda", "LMCacheConnectorV1", True),
        ("cpu", "LMCacheConnectorV1", False),
        ("cuda", "LMCacheMPConnector", False),
    ],
)
def test_versions_are_bad_for_a_wiring_and_a_device(device: str, connector: str, is_bad: bool) -> None:
    lines = next("\n".join(lines) for name, lines in CONCLUSIONS if name == "known_bad_pair" and "0.32.0" in lines[0])
    text = lines.replace("device_config=cuda", f"device_config={device}").replace("LMCacheConnectorV1", connector)
    assert ("known_bad_pair" in [problem.id for problem in diagnose(text).problems]) is is_bad


@pytest.mark.parametrize("prefix", ["{} | ", "{}-1  | ", "[pod/vllm-{}/engine] "])
def test_containers_whose_lines_are_mixed_are_two_servers(prefix: str) -> None:
    """In containers the processes of both have the same numbers."""
    lines = [ENGINE, CONNECTOR, lookup("r", hit=1280, load=1280), retrieved("r")]
    text = "\n".join(prefix.format(name) + line for name in ("a", "b", "a") for line in lines)
    assert diagnose(text).conclusion.id == "two_servers"


FAILS = [ENGINE, vllm_error("torch.OutOfMemoryError: CUDA out of memory.")]
LOADS = [ENGINE, CONNECTOR, lookup("r", hit=1280, load=1280), retrieved("r")]


@pytest.mark.parametrize("prefix", ["{} | ", "{}-1  | ", "[pod/vllm-{}/engine] ", "Nov 29 14:06:56 host vllm-{}[81]: "])
def test_a_failed_start_is_made_good_by_its_own_container_only(prefix: str) -> None:
    def verdicts(first: str, second: str) -> list[str]:
        lines = [prefix.format(first) + line for line in FAILS] + [prefix.format(second) + line for line in LOADS]
        diagnosis = diagnose("\n".join(lines))
        return [problem.id for problem in diagnosis.problems] or [diagnosis.conclusion.id]

    assert verdicts("a", "a") == ["recovered"]
    assert verdicts("a", "b") == ["two_servers", "out_of_gpu_memory"]


def test_of_two_containers_one_after_the_other_nothing_is_compared() -> None:
    lines = [name + line for name in ("a | ", "b | ") for line in (ENGINE, CONNECTOR, lookup("r"), stored("r"))]
    assert [problem.id for problem in diagnose("\n".join(lines)).problems] == ["two_servers"]


def test_an_engine_does_not_make_good_what_failed_its_lmcache_server() -> None:
    server = [info("Supported transfer mode: auto"), "Traceback (most recent call last):", "RuntimeError: boom"]
    loads = [
        ENGINE,
        CONNECTOR.replace("LMCacheConnectorV1", "LMCacheMPConnector"),
        info("Retrieved 9 tokens in 1 seconds"),
    ]
    assert diagnose("\n".join([*server, *loads])).exit_status == 1
    assert diagnose("\n".join([*server, server[0], *loads])).conclusion.id == "recovered"


def test_of_a_log_that_names_failing_stores_it_is_not_said_that_it_does_not_tell() -> None:
    puts = "E0905 14:46:37.882854 17930 store_py.cpp:1036] Put operation failed with error: RPC_FAIL"
    text = "\n".join([ENGINE, CONNECTOR, lookup("a"), stored("a"), puts, lookup("b"), stored("b"), puts])
    assert [problem.id for problem in diagnose(text).problems] == ["puts_failed"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_verdict_and_kind_has_words(language: str) -> None:
    texts = all_texts(language)["log"]
    of_several_logs = {"see_the_server"}
    assert set(texts["conclusion"]) == {name for name, _ in CONCLUSIONS} | of_several_logs
    assert set(texts["kind"]) == {kind.value for kind in Kind}
    for _, lines in CONCLUSIONS:
        conclusion = diagnose("\n".join(lines)).conclusion
        assert conclusion.what(language)
        assert conclusion.next_step(language)
