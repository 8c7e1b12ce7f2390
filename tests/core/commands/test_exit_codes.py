"""Every command: 0 for fine, 1 for findings, 2 with one line for input it cannot use; JSON where asked."""

import json
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from tests.core.lint.builders import SERVE_MP

DATA = Path(__file__).parents[1] / "data" / "logs"
BYTES = ["--kv-bytes-per-token", "131072"]
PLAN = ["plan", *BYTES, "--context", "131072", "--prefixes", "20", "--free-vram-gib", "10", "--cpu-ram-gib", "64"]
WORTH = ["worth-it", *BYTES, "--prefix", "8000", "--requests-per-hour", "60", "--prefill-tokens-per-s", "5000"]
CONFIG = '{"num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64}'


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["size", CONFIG], 0),
        (PLAN, 0),
        ([*PLAN, "--wiring", "in_process_disk", "--vllm", "0.28.0"], 1),
        ([*WORTH, "--repeated", "0.5"], 0),
        (["lint", "good.sh"], 0),
        (["lint", "bad.sh"], 1),
        (["diagnose", str(DATA / "cpu.log")], 0),
        (["diagnose", str(DATA / "limit0.log")], 1),
    ],
)
def test_fine_and_findings(
    arguments: list[str],
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.sh").write_text(SERVE_MP)
    Path("bad.sh").write_text("vllm serve m --no-enable-prefix-caching\n")
    assert main(arguments) == status
    assert capsys.readouterr().out
    assert main([*arguments, "--json"]) == status
    assert json.loads(capsys.readouterr().out) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ["size", "{"],
        ["size", "none.json"],
        [*PLAN, "--prefixes", "0"],
        [*PLAN, "--cpu-ram-gib", "nan"],
        [*PLAN, "--tp", "0"],
        [*PLAN, "--vllm", "latest"],
        [*PLAN, "--tier-kv-bytes-per-token", "0"],
        [*PLAN, "--wiring", "vllm_tiering", "--platform", "cpu"],
        [*PLAN, "--drive", "relative"],
        [*WORTH, "--repeated", "2"],
        [*WORTH, "--repeated", "0.5", "--chunk-size", "0"],
        ["lint", "none"],
        ["lint", "folder"],
        ["lint", "empty"],
        ["lint", "good.sh", "--prefix-tokens", "-3"],
        ["lint", "good.sh", "--drive-free-gib", "nan"],
        ["lint", "good.sh", "--mounts", "none"],
        ["diagnose", "none"],
        ["diagnose", "."],
        ["diagnose", "empty"],
        ["diagnose", "good.sh"],
        ["diagnose", str(DATA / "cpu.log"), "--requests", "-1"],
    ],
    ids=" ".join,
)
def test_input_that_cannot_be_used(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.sh").write_text("vllm serve m\n")
    Path("empty").touch()
    assert main([*arguments, "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"kvtiers {arguments[0]}: ")
    assert said.err.count("\n") == 1
