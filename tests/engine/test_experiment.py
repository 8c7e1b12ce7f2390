"""The real engines: vLLM's CPU backend, LMCache's server beside it or LMCache inside. Nothing here is a stand-in."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtiers.result.pairs import PairVerdict, read_pairs
from kvtiers.result.schema import Mode, Program, Result, read_result
from kvtiers.result.steps import Arm, Step
from kvtiers.result.survival import Scenario, read_survival
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.engines.process import Process
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, Directories, LocalRun, launches, pool_of, running
from lab.pairs.layers import LAYERS
from lab.pairs.prove import FAULTS, judge_faults
from lab.paths import LOGS, REPOSITORY, engine_python
from lab.run_directory import run_directory
from lab.trials.run import run_trials

pytestmark = pytest.mark.engine
START_TIMEOUT_S = 300.0


# Every process of these tests' runs inherits them: another run, here or in another clone, may be going on.
MARK = f"KVTIERS_TEST_RUN={uuid.uuid4()}"
TEMPORARY = Path(tempfile.gettempdir()) / f"kvtiers-tests-{uuid.uuid4().hex[:8]}"
CHUNKS = DEFAULT_CACHE_ROOT / f"tests-{uuid.uuid4().hex[:8]}"
# Of an answer the first token is what counts.
SHORT = ("--max-tokens", "8")
OWN = ("--engine", "cpu", "--cache-dir", str(CHUNKS))
# A second engine beside a server on the drive is asked in test_beside_a_server.py.
SURVIVE_HERE = {
    Scenario.MIDDLE_TOKEN_CHANGED,
    Scenario.SERVER_RESTART,
    Scenario.PREFIXES_PREFETCHED,
    Scenario.REDIS_SECOND_ENGINE,
}
PAIR = ("0.32.0", "0.5.5")  # the engine's own vLLM: what differs is 17 MB to download
ENGINE, SERVER = b"vllm.entrypoints.openai.api_server", b"--l1-size-gb"


def lab(*arguments: str) -> subprocess.Popen[str]:
    return start_lab("run", *SHORT, *(() if "--url" in arguments else OWN), *arguments)


def start_lab(*command: str) -> subprocess.Popen[str]:
    assert engine_python("cpu").exists(), "the engine is not set up: run python -m lab setup --engine cpu"
    name, _, value = MARK.partition("=")
    return subprocess.Popen(
        [sys.executable, "-m", "lab", *command],
        cwd=REPOSITORY,
        env=os.environ | {name: value, "TMPDIR": str(TEMPORARY), "COLUMNS": "160"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(autouse=True, scope="module")
def _directories() -> Iterator[None]:
    for directory in (CHUNKS, TEMPORARY):
        directory.mkdir(parents=True)
    yield
    for directory in (CHUNKS, TEMPORARY):
        directory.rmdir()


def processes(mark: bytes) -> list[str]:
    """Those that these tests' runs started, wherever they hang."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = ((process / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if MARK.encode() in variables and mark in words:
            found.append(process.name)
    return found


def unused_segments() -> list[str]:
    """Shared memory of runs that no process maps any more; other runs on this machine map theirs."""
    mapped = ""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            mapped += maps.read_text()
    return [path.name for path in Path("/dev/shm").glob("lmcache_l1_pool_kvtiers-run-*") if path.name not in mapped]


def await_engine(run: subprocess.Popen[str]) -> None:
    while not processes(ENGINE):
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)


def assert_nothing_left() -> None:
    assert processes(ENGINE) == processes(SERVER) == []
    assert [*CHUNKS.iterdir(), *TEMPORARY.iterdir()] == []
    assert unused_segments() == []


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Path]:
    """One repeat with control and a restart, as `python -m lab run` does it."""
    output = tmp_path_factory.mktemp("measured") / "result.json"
    run = lab("--repeats", "1", "--restart", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    return read_result(output.read_text()), out, output


def test_every_sample_is_what_its_name_says(measured: tuple[Result, str, Path]) -> None:
    result = measured[0]
    assert result.valid
    assert [(sample.arm, sample.step) for sample in result.samples] == [
        (Arm.LMCACHE, Step.COLD),
        (Arm.CONTROL, Step.COLD),
        (Arm.LMCACHE, Step.GPU_HIT),
        (Arm.CONTROL, Step.GPU_HIT),
        (Arm.LMCACHE, Step.CPU_HIT),
        (Arm.CONTROL, Step.EVICTED_RECOMPUTE),
        (Arm.LMCACHE, Step.SSD_REUSE),
        (Arm.LMCACHE, Step.SSD_AFTER_RESTART),
    ]
    logs = {s.step: s.evidence.server_log for s in result.samples if s.arm is Arm.LMCACHE}
    assert {step: (log.l1_keys, log.l2_keys, log.retrieved_tokens) for step, log in logs.items() if log} == {
        Step.COLD: (0, 0, 0),
        Step.GPU_HIT: (5, 0, 0),
        Step.CPU_HIT: (5, 0, 1280),
        Step.SSD_REUSE: (0, 5, 1280),
        Step.SSD_AFTER_RESTART: (0, 5, 1280),
    }
    assert len({sample.evidence.token_ids for sample in result.samples}) == 1


def test_log_and_counters_of_the_server_and_those_of_the_engine_agree(measured: tuple[Result, str, Path]) -> None:
    for sample in measured[0].samples:
        log, counted = sample.evidence.server_log, sample.evidence.server_counters
        if log and counted:
            assert (counted.l1_hits, counted.l2_hits) == (256 * log.l1_keys, 256 * log.l2_keys)
            assert log.retrieved_tokens == sample.evidence.counters.external_hits


def test_the_result_says_what_ran_and_where(measured: tuple[Result, str, Path]) -> None:
    result = measured[0]
    assert (result.mode, result.lmcache_mode) == (Mode.CPU, LMCacheMode.MP)
    assert (result.versions.vllm, result.versions.lmcache) == ("0.32.0", "0.5.6")
    assert result.versions.torch.startswith("2.13.0")
    assert result.model.kv_bytes_per_token == 16384
    assert result.settings.pool_tokens == 2688
    server, engine, control, *again = [(run.program, run.arm) for run in result.processes]
    assert (server, engine) == ((Program.SERVER, Arm.LMCACHE), (Program.ENGINE, Arm.LMCACHE))
    assert control == (Program.ENGINE, Arm.CONTROL)
    assert again == [server, engine]
    assert result.machine.file_system not in ("", "unknown")
    assert str(REPOSITORY) not in measured[2].read_text()


def test_reuse_beats_cold_and_the_control_recomputes(measured: tuple[Result, str, Path]) -> None:
    summary = measured[0].summary
    assert summary.cold_over_cpu_hit is not None
    assert summary.cold_over_ssd_reuse is not None
    assert summary.evicted_recompute_over_ssd_reuse is not None
    # A quiet machine shows 8x; a test must not time a busy one.
    assert summary.cold_over_cpu_hit > 1
    assert summary.cold_over_ssd_reuse > 1
    assert summary.evicted_recompute_over_ssd_reuse > 1
    assert [parts.tail_tokens for parts in summary.reuse_parts] == [50, 50, 50]


def test_a_person_sees_the_steps_with_their_evidence_and_a_chart(measured: tuple[Result, str, Path]) -> None:
    _, out, output = measured
    assert re.search(r"RAM hit .* own 0 L1 1,280 L2 0 loaded 1,280", out)
    assert re.search(r"SSD reuse .* own 0 L1 0 L2 1,280 loaded 1,280", out)
    assert re.search(r"evicted .* own 0 external 0", out)
    assert "…" not in out
    assert output.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_left_behind(measured: tuple[Result, str, Path]) -> None:
    assert_nothing_left()


def test_inside_the_engine_reuse_from_the_page_cache_stands_beside_reuse_from_the_drive(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    wanted = ("--wiring", "in-process", "--page-cache", "--no-control", "--repeats", "2")
    run = lab(*wanted, "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert [sample.step for sample in result.samples] == [
        *(Step.COLD, Step.GPU_HIT, Step.SSD_REUSE, Step.PAGE_CACHE_REUSE),
        *(Step.COLD, Step.GPU_HIT, Step.PAGE_CACHE_REUSE, Step.SSD_REUSE),
    ]
    logs = [sample.evidence.log for sample in result.samples]
    assert [(log.computed_tokens, log.hit_tokens, log.need_to_load_tokens) for log in logs if log] == [
        *((0, 0, 0), (1280, 1280, 0), (0, 1280, 1280), (0, 1280, 1280)) * 2
    ]
    assert (result.lmcache_mode, result.settings.direct_io) == (LMCacheMode.IN_PROCESS, False)
    assert "against the same answered by the page cache" in out


def test_documents_have_a_row_each_and_one_too_long_starts_nothing(tmp_path: Path) -> None:
    texts = {"short.txt": 60, "long.txt": 100, "huge.txt": 300}
    for name, sentences in texts.items():
        (tmp_path / name).write_text(" ".join(f"{name} {n} says nothing new" for n in range(sentences)))
    output = tmp_path / "result.json"
    wanted = ("--no-control", "--repeats", "1", "--output", str(output))
    run = lab("--document", str(tmp_path / "huge.txt"), *wanted)
    _, err = run.communicate()
    assert run.returncode == 1
    assert "raise --pool-tokens to at least" in err
    assert "start LMCache server" not in err
    chosen = [argument for name in ("short.txt", "long.txt") for argument in ("--document", str(tmp_path / name))]
    run = lab(*chosen, *wanted)
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert [summary.document for summary in result.summaries] == ["short.txt", "long.txt"]
    assert [summary.steps[0].samples for summary in result.summaries] == [1, 1]
    assert result.settings.document_tokens[0] < result.settings.document_tokens[1]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Process]]:
    """LMCache's server and an engine that 'somebody else' started."""
    directory = tmp_path_factory.mktemp("server")
    wanted = LocalRun(PRESETS["tiny"], Knobs(control=False))
    with (
        # Unix sockets need a short path, shorter than a test's own directory.
        run_directory(Path(tempfile.gettempdir())) as sockets,
        reserved_ports(wanted.ports) as ports,
    ):
        chunks = directory / "chunks-of-somebody-else"  # the shared memory is called so too
        chunks.mkdir()
        group = launches(wanted, pool_of(wanted), Directories(chunks, sockets), ports, direct_io=True)
        with running(group, directory, START_TIMEOUT_S) as processes:
            yield processes


@pytest.mark.parametrize(
    ("given", "late"),
    [
        (("server", "log"), [Step.CPU_HIT, Step.SSD_REUSE]),
        (("server",), [Step.CPU_HIT, Step.SSD_REUSE]),
        ((), [Step.REUSE]),
    ],
)
def test_a_foreign_engines_tiers_are_named_only_where_lmcaches_server_tells(
    started: list[Process], given: tuple[str, ...], late: list[Step], tmp_path: Path
) -> None:
    output = tmp_path / "result.json"
    server, engine = started
    options = {"server": ("--server", server.url), "log": ("--log", str(server.log_path))}
    chosen = [word for name in given for word in options[name]]
    run = lab("--url", engine.url, *chosen, "--seed", str(len(given)), "--repeats", "1", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert (result.mode, result.valid, result.settings.pool_tokens) == (Mode.URL, True, 2688)
    assert [sample.step for sample in result.samples] == [Step.COLD, Step.GPU_HIT, *late]
    assert all(bool(sample.evidence.server_log) is ("log" in given) for sample in result.samples)
    assert ("Evidence is from /metrics alone" in out) is ("log" not in given)


def test_a_text_file_goes_through_the_servers_own_tokenizer(started: list[Process], tmp_path: Path) -> None:
    text = tmp_path / "report.txt"
    text.write_text(" ".join(f"chapter {number} says nothing new" for number in range(40)), encoding="utf-8")
    output = tmp_path / "result.json"
    run = lab("--url", started[-1].url, "--document", str(text), "--repeats", "1", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert {sample.document for sample in result.samples} == {"report.txt"}
    assert result.samples[0].prompt_tokens == result.settings.document_tokens[0]


@pytest.mark.parametrize(("mark", "died"), [(ENGINE, "lmcache engine"), (SERVER, "LMCache server")])
def test_a_process_killed_in_the_middle_leaves_its_samples_and_one_message(
    mark: bytes, died: str, tmp_path: Path
) -> None:
    output = tmp_path / "result.json"
    run = lab("--no-control", "--repeats", "50", "--output", str(output))
    await_engine(run)
    # The third is the first of a measured round: some samples exist, most do not.
    while run.poll() is None and (LOGS / "server.log").read_text(errors="replace").count("Retrieved 1280 ") < 3:
        time.sleep(0.1)
    for process in processes(mark):
        os.kill(int(process), signal.SIGKILL)
    out, err = run.communicate()
    assert run.returncode == 1
    assert "NOT VALID" in out
    assert "Traceback" not in err
    result = read_result(output.read_text())
    assert not result.valid
    assert len(result.problems) == 1
    assert f"the {died} was killed by signal 9" in result.problems[0]
    assert result.samples
    assert_nothing_left()


def test_ctrl_c_stops_the_engine_and_writes_nothing(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    run = lab("--no-control", "--output", str(output))
    await_engine(run)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate()
    assert run.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert_nothing_left()


def test_an_engine_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"model_type": "qwen3", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 64, '
        '"vocab_size": 2048, "architectures": ["NoSuchModel"]}'
    )
    run = lab("--no-control", "--model", str(tmp_path), "--output", str(tmp_path / "result.json"))
    _, err = run.communicate()
    assert run.returncode == 1
    assert "engine ended with exit code" in err
    assert len(err.strip().splitlines()) < 15
    assert not (tmp_path / "result.json").exists()
    assert_nothing_left()


def test_health_that_does_not_come_in_time_is_told_with_the_last_word(tmp_path: Path) -> None:
    run = lab("--no-control", "--start-timeout", "1", "--output", str(tmp_path / "result.json"))
    _, err = run.communicate()
    assert run.returncode == 1
    assert "was not healthy after 1 s; the last it said" in err
    assert_nothing_left()


def test_what_survives_and_what_breaks_is_as_lab_survive_expects(tmp_path: Path) -> None:
    """One scenario of each kind: all of them take ten minutes."""
    output = tmp_path / "survive.json"
    only = [word for scenario in SURVIVE_HERE for word in ("--only", scenario)]
    run = start_lab("survive", *OWN, *only, "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    survival = read_survival(output.read_text())
    assert [outcome.scenario for outcome in survival.outcomes if not outcome.met] == []
    assert {outcome.scenario for outcome in survival.outcomes} == SURVIVE_HERE - set(survival.not_tried)
    assert_nothing_left()


def test_another_release_is_proven_and_its_layer_is_gone_afterwards(tmp_path: Path) -> None:
    """Beside the engine only: both modes take six minutes."""
    output = tmp_path / "pairs.json"
    wanted = (":".join(PAIR), "--mode", LMCacheMode.MP)
    run = start_lab("pairs", *wanted, "--cache-dir", str(CHUNKS), "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    (proven,) = read_pairs(output.read_text()).runs
    assert proven.key == (*PAIR, LMCacheMode.MP)
    assert (proven.verdict, proven.cause) == (PairVerdict.WORKS, "")
    assert set(proven.ttft_s) == {Step.COLD, Step.GPU_HIT, Step.CPU_HIT, Step.SSD_REUSE, Step.SSD_AFTER_RESTART}
    assert set(proven.faults) == set(FAULTS[LMCacheMode.MP])
    assert not list(LAYERS.glob("lmcache-*"))
    assert_nothing_left()


def test_inside_the_engine_a_lost_chunk_costs_nothing_but_time() -> None:
    knobs = Knobs(repeats=1, control=False)
    wanted = LocalRun(PRESETS["tiny"], knobs, cache_root=CHUNKS, lmcache_mode=LMCacheMode.IN_PROCESS, known_bad=True)
    survival = run_trials(wanted, {Scenario.CHUNK_LOST: FAULTS[LMCacheMode.IN_PROCESS][Scenario.CHUNK_LOST]})
    assert judge_faults(survival) == (PairVerdict.WORKS, ""), [outcome.found for outcome in survival.outcomes]
    assert [outcome.met for outcome in survival.outcomes] == [True], [outcome.found for outcome in survival.outcomes]
