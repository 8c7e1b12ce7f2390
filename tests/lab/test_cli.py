"""Commands as a user types them. None of these starts an engine."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.result.compare import spread_text
from kvtiers.result.schema import Mode, ProcessRun, Program, dump, read_result
from kvtiers.result.steps import Arm
from kvtiers.units import format_seconds
from lab.paths import REPOSITORY
from tests.core.builders import mp_evidence, result, with_sample


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", [(), ("run",), ("setup",), ("show",), ("models",)])
def test_help_is_there(command: tuple[str, ...]) -> None:
    done = lab(*command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_a_dry_run_prints_both_arms_and_starts_nothing() -> None:
    done = lab("run", "--dry-run", "--engine", "cuda", "--preset", "qwen3-4b-awq")
    assert done.returncode == 0
    assert "# lmcache" in done.stdout
    assert "# control" in done.stdout
    assert "--num-gpu-blocks-override 43" in done.stdout


def test_a_dry_run_does_not_print_what_a_run_would_refuse() -> None:
    done = lab("run", "--dry-run", "--engine", "cuda", "--wiring", "in-process")
    assert (done.returncode, done.stdout) == (1, "")
    assert "is known not to work" in done.stderr
    assert "On CUDA no pair is known to work" in done.stderr
    assert lab("run", "--dry-run", "--engine", "cuda", "--wiring", "in-process", "--known-bad").returncode == 0


def test_options_of_the_engines_own_are_passed_to_both_arms_after_the_labs() -> None:
    wanted = ("--engine-arg=--max-num-seqs 4", "--engine-arg=--seed=7")
    done = lab("run", "--dry-run", "--engine", "cpu", *wanted)
    assert done.stdout.count(" --max-num-seqs 4 --seed=7\n") == 2


@pytest.mark.parametrize(("option", "word"), [("--repeats", "3"), ("--chunk-size", "256")])
def test_each_knob_is_an_option_with_its_default(option: str, word: str) -> None:
    text = lab("run", "--help").stdout
    assert option in text
    assert word in text


def test_show_prints_the_table_and_the_verdict(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(dump(result()))
    done = lab("show", str(file))
    assert done.returncode == 0
    assert "own 0 L1 0 L2 1,280 loaded 1,280" in done.stdout
    assert "SSD reuse: 11.2x faster to the first token than cold" in done.stdout


@pytest.mark.parametrize("columns", ["40", "60", "80"])
@pytest.mark.parametrize("run", ["cpu-tiny", "cpu-tiny-long", "cpu-tiny-in-process"])
def test_no_figure_is_cut_however_few_columns_a_line_has(
    run: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    done = lab("show", str(REPOSITORY / "lab" / "results" / "reference" / f"{run}.json"))
    result = read_result((REPOSITORY / "lab" / "results" / "reference" / f"{run}.json").read_text())
    assert "…" not in done.stdout
    for row in result.summary.steps:
        assert f" {format_seconds(row.ttft.median_s)} " in done.stdout
        assert spread_text(row.ttft) in done.stdout


def test_a_file_of_survive_is_shown_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # no cell is folded then
    done = lab("show", str(REPOSITORY / "lab" / "results" / "reference" / "survive.json"))
    assert (done.returncode, "first token changed" in done.stdout) == (0, True)


def test_of_copies_that_were_only_queued_no_time_is_told_as_theirs(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    for mode, transfer, queued in (
        (Mode.CUDA, (), True),
        (Mode.CUDA, ("--supported-transfer-mode", "engine_driven"), False),
        (Mode.URL, (), True),
        (Mode.CPU, (), False),
    ):
        server = ProcessRun(Arm.LMCACHE, Program.SERVER, ("lmcache", "server", *transfer), {}, 1.0, "server.log")
        file.write_text(dump(replace(result(), mode=mode, processes=() if mode is Mode.URL else (server,))))
        said = lab("show", str(file)).stdout
        assert ("by LMCache's own account" in said) is not queued
        assert ("once it is queued" in said) is queued
        assert ("the copy itself is not in it" in said) is queued


def test_a_corrupt_result_is_one_message(tmp_path: Path) -> None:
    file = tmp_path / "latest.json"
    for text in ("{", dump(result())[:500], dump(with_sample(0, evidence=mp_evidence(result().samples[1].step)))):
        file.write_text(text)
        done = lab("show", str(file))
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: {file}: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--engine", "tpu"), "--engine must be cpu, cuda or auto"),
        (("run", "--engine", "cpu", "--preset", "nope", "--dry-run"), "no preset 'nope'"),
        (("run", "--engine", "cpu", "--document-tokens", "200", "--dry-run"), "fills no chunk of 256"),
        (("run", "--engine", "cpu", "--output", "/proc/nowhere/result.json"), "cannot make /proc/nowhere"),
        (("run", "--url", "http://127.0.0.1:9", "--preset", "tiny"), "--preset can't be had with it"),
        (("run", "--url", "http://127.0.0.1:9", "--page-cache", "--no-control"), "--no-control, --page-cache can't"),
        (("run", "--url", "http://127.0.0.1:9", "--wiring", "mp", "--engine", "cpu"), "--engine, --wiring can't"),
        (("run", "--url", "http://127.0.0.1:9/v1", "--seed", "1"), "no answer from http://127.0.0.1:9/v1/models"),
        (("run", "--engine", "cpu", "--port", "65534", "--dry-run"), "so 65532 at most"),
        (("run", "--engine", "cpu", "--document", "/nowhere/a.txt", "--dry-run"), "cannot read /nowhere/a.txt"),
        (("run", "--engine", "cpu", "--pool-tokens", "-9", "--dry-run"), "do not fit the pool of 0 tokens"),
        (
            ("run", "--engine", "cpu", "--engine-arg=--port=80", "--dry-run"),
            "--engine-arg --port=80: that is the lab's",
        ),
        *(
            (("run", "--engine", "cpu", f"--engine-arg={word}", "--dry-run"), f"--engine-arg {word.split()[0]}: that")
            for word in (
                "--block-size 16",
                "--block_size=16",
                "--block-si=16",
                "--kv-cache-dtype fp8",
                "-tp 2",
                "-tp=2",
            )
        ),
        (
            ("run", "--engine", "cpu", "--engine-arg=--kv-transfer-config.kv_connector=X", "--dry-run"),
            "--engine-arg --kv-transfer-config.kv_connector=X: that is the lab's",
        ),
        (("run", "--engine", "cpu", "--engine-arg=--x 'y", "--dry-run"), "--engine-arg --x 'y: No closing quotation"),
        (("run", "--log", "engine.log"), "--server and --log go with --url"),
        (("run", "--server", "http://127.0.0.1:9"), "--server and --log go with --url"),
        (("run", "--restart", "--wiring", "in-process"), "--restart needs --wiring mp"),
        (("run", "--url", "http://127.0.0.1:9"), "no answer from http://127.0.0.1:9"),
        (("show", "/nowhere/latest.json"), "cannot read /nowhere/latest.json"),
    ],
)
def test_bad_input_is_one_message_and_no_traceback(arguments: tuple[str, ...], message: str) -> None:
    done = lab(*arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--repeats", "0"),
        ("--max-tokens", "0"),
        ("--chunk-size", "0"),
        ("--port", "70000"),
        ("--seed", "x"),
        ("--nonsense",),
    ],
)
def test_a_wrong_option_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    done = lab("run", *arguments)
    assert done.returncode == 2
    assert arguments[0] in done.stderr
    assert "Traceback" not in done.stderr
