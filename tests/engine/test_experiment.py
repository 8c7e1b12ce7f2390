"""The real engine: vLLM's CPU backend with LMCache in-process. Nothing here is a stand-in."""

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

from kvtiers.result.schema import Mode, Result, read_result
from kvtiers.result.steps import Arm, Step
from lab.engines.launch import Knobs
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.engines.process import Engine
from lab.local_run import DEFAULT_CACHE_ROOT, Directories, LocalRun, launches, pool_of, running
from lab.measure.chunks import run_directory
from lab.paths import LOGS, REPOSITORY, engine_python

pytestmark = pytest.mark.engine
START_TIMEOUT_S = 300.0


# Every process of these tests' runs inherits it: another run, here or in another clone, may be going on.
MARK = f"KVTIERS_TEST_RUN={uuid.uuid4()}"


def lab(*arguments: str) -> subprocess.Popen[str]:
    assert engine_python("cpu").exists(), "the engine is not set up: run python -m lab setup --engine cpu"
    name, _, value = MARK.partition("=")
    return subprocess.Popen(
        [sys.executable, "-m", "lab", "run", "--engine", "cpu", *arguments],
        cwd=REPOSITORY,
        env=os.environ | {name: value},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def engine_processes() -> list[str]:
    """Engines that these tests' runs started, wherever they hang."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = ((process / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if MARK.encode() in variables and b"vllm.entrypoints.openai.api_server" in words:
            found.append(process.name)
    return found


def await_engine(run: subprocess.Popen[str]) -> None:
    while not engine_processes():
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)


def assert_nothing_left() -> None:
    assert engine_processes() == []
    assert list(DEFAULT_CACHE_ROOT.glob("kvt-*")) == []


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, str, Path]:
    """One repeat with control, as `python -m lab run` does it."""
    output = tmp_path_factory.mktemp("measured") / "result.json"
    run = lab("--repeats", "1", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, err
    return read_result(output.read_text()), out, output


def test_every_sample_is_what_its_name_says(measured: tuple[Result, str, Path]) -> None:
    result = measured[0]
    assert result.valid
    assert [(sample.arm, sample.step) for sample in result.samples] == [
        (Arm.LMCACHE, Step.COLD),
        (Arm.CONTROL, Step.COLD),
        (Arm.LMCACHE, Step.GPU_HIT),
        (Arm.CONTROL, Step.GPU_HIT),
        (Arm.LMCACHE, Step.SSD_REUSE),
        (Arm.CONTROL, Step.EVICTED_RECOMPUTE),
    ]
    logs = {s.step: s.evidence.log for s in result.samples if s.arm is Arm.LMCACHE}
    assert {
        step: (log.computed_tokens, log.hit_tokens, log.need_to_load_tokens) for step, log in logs.items() if log
    } == {
        Step.COLD: (0, 0, 0),
        Step.GPU_HIT: (1280, 1280, 0),
        Step.SSD_REUSE: (0, 1280, 1280),
    }
    assert len({sample.evidence.token_ids for sample in result.samples}) == 1


def test_the_result_says_what_ran_and_where(measured: tuple[Result, str, Path]) -> None:
    result = measured[0]
    assert result.mode is Mode.CPU
    assert (result.versions.vllm, result.versions.lmcache) == ("0.32.0", "0.5.6")
    assert result.versions.torch.startswith("2.13.0")
    assert result.model.kv_bytes_per_token == 16384
    assert result.settings.pool_tokens == 2688
    assert len(result.engines) == 2
    assert result.machine.file_system not in ("", "unknown")
    assert str(REPOSITORY) not in measured[2].read_text()


def test_reuse_beats_cold_and_the_control_recomputes(measured: tuple[Result, str, Path]) -> None:
    summary = measured[0].summary
    assert summary.cold_over_ssd_reuse is not None
    assert summary.evicted_recompute_over_ssd_reuse is not None
    # Far below the 8x that a quiet machine shows: a test must not time a busy one.
    assert summary.cold_over_ssd_reuse > 2
    assert summary.evicted_recompute_over_ssd_reuse > 2
    assert summary.reuse_parts is not None
    assert summary.reuse_parts.tail_tokens == 50


def test_a_person_sees_the_steps_with_their_evidence_and_a_chart(measured: tuple[Result, str, Path]) -> None:
    _, out, output = measured
    assert re.search(r"SSD reuse .* C 0  H 1280  L 1280", out)
    assert re.search(r"evicted .* own 0  external 0", out)
    assert output.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_left_behind(measured: tuple[Result, str, Path]) -> None:
    assert_nothing_left()


def test_reuse_from_the_page_cache_stands_beside_reuse_from_the_drive(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    run = lab("--page-cache", "--no-control", "--repeats", "2", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert [sample.step for sample in result.samples] == [
        *(Step.COLD, Step.GPU_HIT, Step.SSD_REUSE, Step.PAGE_CACHE_REUSE),
        *(Step.COLD, Step.GPU_HIT, Step.PAGE_CACHE_REUSE, Step.SSD_REUSE),
    ]
    assert result.settings.direct_io is False
    assert "against the same answered by the page cache" in out


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with LMCache that 'somebody else' started."""
    directory = tmp_path_factory.mktemp("server")
    wanted = LocalRun(PRESETS["tiny"], Knobs(control=False))
    # Unix sockets need a short path, shorter than a test's own directory.
    with run_directory(Path(tempfile.gettempdir())) as sockets, reserved_ports(1) as ports:
        group = launches(wanted, pool_of(wanted), Directories(directory / "chunks", sockets), ports, direct_io=True)
        with running(group, directory, START_TIMEOUT_S) as (engine,):
            yield engine


@pytest.mark.parametrize("with_log", [True, False])
def test_a_foreign_server_is_measured_and_its_evidence_named(server: Engine, with_log: bool, tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    log = ("--log", str(server.log_path)) if with_log else ()
    seed = "1" if with_log else "2"
    run = lab("--url", server.url, *log, "--seed", seed, "--repeats", "1", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert (result.mode, result.valid, result.settings.pool_tokens) == (Mode.URL, True, 2688)
    assert all(bool(sample.evidence.log) is with_log for sample in result.samples)
    assert ("Evidence is from /metrics alone" in out) is not with_log


def test_a_text_file_goes_through_the_servers_own_tokenizer(server: Engine, tmp_path: Path) -> None:
    text = tmp_path / "report.txt"
    text.write_text(" ".join(f"chapter {number} says nothing new" for number in range(40)), encoding="utf-8")
    output = tmp_path / "result.json"
    run = lab("--url", server.url, "--document", str(text), "--repeats", "1", "--output", str(output))
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    result = read_result(output.read_text())
    assert {sample.document for sample in result.samples} == {"report.txt"}
    assert result.samples[0].prompt_tokens == result.settings.document_tokens[0]


def test_an_engine_killed_in_the_middle_leaves_its_samples_and_one_message(tmp_path: Path) -> None:
    output = tmp_path / "result.json"
    run = lab("--no-control", "--repeats", "50", "--output", str(output))
    await_engine(run)
    # The second reuse is the first of a measured round: some samples exist, most do not.
    while run.poll() is None and (LOGS / "lmcache.log").read_text(errors="replace").count("] Retrieved 1280 ") < 2:
        time.sleep(0.1)
    for process in engine_processes():
        os.kill(int(process), signal.SIGKILL)
    out, err = run.communicate()
    assert run.returncode == 1
    assert "NOT VALID" in out
    assert "Traceback" not in err
    result = read_result(output.read_text())
    assert not result.valid
    assert len(result.problems) == 1
    assert "engine was killed by signal 9" in result.problems[0] or "broke" in result.problems[0]
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
