"""Ten lines about a machine that has a card, and about one that has none; nothing is installed."""

import stat
from pathlib import Path

import pytest

from lab import readiness as readiness_module
from lab.readiness import Line, readiness
from machine import space

A4090 = "0, GPU-5f0c8a3e, NVIDIA GeForce RTX 4090, 580.95.05, 8.9, 24564, 23999"


def install_smi(directory: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing set up, room for all of it, a system that lacks nothing."""
    monkeypatch.setattr(readiness_module, "engine_environment", lambda engine: tmp_path / engine)
    monkeypatch.setattr(readiness_module, "DEFAULT_CACHE_ROOT", tmp_path / "cache")
    monkeypatch.setattr(readiness_module, "missing", lambda command, engine: [])
    monkeypatch.setattr(space, "complaint", lambda command, engine: "")
    return tmp_path


def told() -> dict[str, Line]:
    lines = readiness()
    assert len(lines) == 10
    assert all("\n" not in line.said for line in lines)
    return {line.what: line for line in lines}


def test_a_machine_with_a_card(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_smi(fresh, monkeypatch, A4090)
    lines = told()
    assert lines["GPU"].said == (
        "NVIDIA GeForce RTX 4090, 24564 MiB, 23.4 GiB free; driver 580.95.05, compute capability 8.9"
    )
    assert lines["engine"].said == "cuda"
    assert "both arms at once, --gpu-memory-utilization 0.2;" in lines["preset"].said
    assert "qwen3-0.6b, qwen3-1.7b-fp8, qwen3-4b-awq, qwen3-8b-fp8, qwen3-14b-fp8" in lines["preset"].said
    assert (
        "the cuda engine takes up to 17 GB; Qwen/Qwen3-4B-AWQ, 2.7 GB, comes from Hugging Face" in lines["set up"].said
    )
    assert not any(line.bad for line in lines.values())


def test_a_full_drive_stops_a_run(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_smi(fresh, monkeypatch, A4090)
    monkeypatch.setattr(space, "complaint", lambda command, engine: "no room")
    assert {name for name, line in told().items() if line.bad} == {"set up"}


@pytest.mark.parametrize(("free", "said"), [("500", "500 MiB of it are free"), ("5000", "the run takes about 5.6")])
def test_a_card_in_use_leaves_the_cpu_and_its_reason(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, free: str, said: str
) -> None:
    install_smi(fresh, monkeypatch, A4090.replace("23999", free))
    lines = told()
    assert said in lines["GPU"].said
    assert lines["engine"].said == "cpu"
    assert "tiny" in lines["preset"].said


def test_a_machine_whose_card_cannot_be_used_has_the_cpu_and_the_reason(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_smi(fresh, monkeypatch, A4090.replace("580.95.05", "550.54.15"))
    lines = told()
    assert "driver 550.54.15 is too old for CUDA 13" in lines["GPU"].said
    assert (lines["engine"].said, lines["set up"].said) == (
        "cpu",
        "the cpu engine takes up to 4 GB; the model is made here",
    )
    assert list(fresh.iterdir()) == [fresh / "nvidia-smi"]
