"""Every notebook runs, and shows the course's key figures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvtiers import costs, prefix, tiers, training
from kvtiers.units import GIB, KIB

Runner = Callable[..., Any]  # run(name, language, control=value, …): see conftest

REFERENCE = Path(__file__).parents[2] / "lab" / "results" / "reference" / "cpu-tiny.json"
QWEN3_4B = json.dumps(
    {
        "model_type": "qwen3",
        "hidden_size": 2560,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
    }
)


def test_runs_and_draws_in_both_languages(run: Runner, name: str, language: str) -> None:
    shown = run(name, language).shown
    # 05 shows settings, all others a chart at once.
    assert 'role="img"' in shown or name == "05_wire_it"
    assert "Traceback" not in shown


def test_01_prefix_is_computed_once_with_a_cache_and_three_times_without(run: Runner) -> None:
    prefix_tokens, question_tokens = 4000, 200
    with_cache, without = run("01_first_token"), run("01_first_token", case="off")
    assert with_cache["computed_tokens"] == prefix_tokens + 3 * question_tokens
    assert without["computed_tokens"] == 3 * (prefix_tokens + question_tokens)
    changed = run("01_first_token", case="front")
    assert changed["computed_tokens"] == without["computed_tokens"]


def test_01_ttft_grows_with_the_prefix(run: Runner) -> None:
    assert run("01_first_token", prefix_tokens=16000)["ttft_s"][0] > run("01_first_token")["ttft_s"][0]


def test_01_formula(run: Runner) -> None:
    formula = run("01_first_token")["reused_tokens"]
    for same, prompt, block in ((4000, 4200, 16), (4000, 4000, 16), (300, 310, 256), (0, 5, 16), (2000, 4200, 128)):
        assert formula(same, prompt, block) == prefix.reused_tokens(same, prompt, block)


def test_02_key_sizes(run: Runner) -> None:
    notebook = run("02_kv_size")
    assert notebook["kv_bytes"] == 128 * KIB
    sizes = list(notebook["load_bytes"].values())
    assert sizes[2] == 4 * GIB
    assert sizes[3] == 10 * GIB
    assert sizes[4] == 16 * GIB
    assert sizes[5] / GIB == pytest.approx(122, abs=0.1)
    for figure in ("128 KiB", "16 GiB", "122 GiB"):
        assert figure in notebook.shown


def test_02_fp8_halves(run: Runner) -> None:
    assert run("02_kv_size", kv_type="fp8")["kv_bytes"] == 64 * KIB


@pytest.mark.parametrize("how", ["pasted", "dropped"])
def test_02_reads_a_config(run: Runner, language: str, how: str) -> None:
    tab = run("02_kv_size", language)["t"]["by_file"]
    config: dict[str, Any] = {"pasted": QWEN3_4B} if how == "pasted" else {"dropped": QWEN3_4B.encode(), "pasted": "{"}
    assert run("02_kv_size", language, source=tab, **config)["kv_bytes"] == 144 * KIB


@pytest.mark.parametrize("text", ["", "{", "[]", '{"num_hidden_layers": -1}', '{"num_hidden_layers": "<b>"}'])
def test_02_bad_config_gets_one_message(run: Runner, language: str, text: str) -> None:
    texts = run("02_kv_size", language)["t"]
    notebook = run("02_kv_size", language, source=texts["by_file"], pasted=text)
    assert "kv_bytes" not in notebook.names
    assert "danger" in notebook.shown
    assert "<b>" not in notebook.shown


def test_03_break_even_and_ceiling(run: Runner) -> None:
    notebook = run("03_load_or_recompute")
    assert notebook["break_even_tokens_per_s"] == pytest.approx(45_776, abs=1)
    assert "45.8k" in notebook.shown
    assert notebook["ceiling"] == pytest.approx(11.44, abs=0.01)
    assert notebook["saved_s"] == pytest.approx(2.5 - 0.218, abs=0.001)


def test_03_formulas(run: Runner) -> None:
    notebook = run("03_load_or_recompute")
    for rate, kv_bytes, gb_per_s in ((4000, 131072, 6), (990, 16384, 1.03), (80_000, 327_680, 14)):
        assert notebook["ceiling_speedup"](rate, kv_bytes, gb_per_s) == pytest.approx(
            costs.ceiling_speedup(rate, kv_bytes, gb_per_s)
        )
        assert notebook["break_even"](kv_bytes, gb_per_s) == pytest.approx(
            costs.break_even_tokens_per_s(kv_bytes, gb_per_s)
        )


def test_03_measured_curve_gives_the_measured_speedups(run: Runner) -> None:
    """Cold 391 and 33,410 ms, disk reuse 121 and 574 ms at 306 and 7,986 tokens on the lab's CPU engine."""
    notebook = run("03_load_or_recompute")
    for tokens, cold_s, reuse_s in ((306, 0.391, 0.121), (7986, 33.410, 0.574)):
        assert notebook["cold"].ttft_s(tokens) == pytest.approx(cold_s, rel=0.05)
        assert notebook["reuse_s"](tokens) == pytest.approx(reuse_s, rel=0.05)


def test_04_fp8_flips_the_judge(run: Runner) -> None:
    """Exercise 1: 128k tokens, 10 GiB of free VRAM."""
    assert run("04_which_tier")["verdict"].tier is tiers.Tier.CPU
    assert run("04_which_tier", kv_type="fp8")["verdict"].tier is tiers.Tier.VRAM


def test_04_users_fill_ram_and_no_reuse_needs_no_tier(run: Runner) -> None:
    assert run("04_which_tier", users=20)["verdict"].tier is tiers.Tier.SSD
    assert run("04_which_tier", reused=False)["verdict"].tier is tiers.Tier.NONE


def test_04_formula(run: Runner) -> None:
    formula = run("04_which_tier")["which_tier"]
    for reused, users, free_vram_gib, cpu_ram_gib in (
        (False, 1, 10, 64),
        (True, 1, 16, 64),
        (True, 1, 15.9, 64),
        (True, 4, 10, 64),
        (True, 5, 10, 64),
    ):
        traffic = tiers.Traffic(131_072, users, reused)
        verdict = tiers.judge(traffic, 128 * KIB, free_vram_gib, cpu_ram_gib)
        assert formula(reused, 16 * users, free_vram_gib, cpu_ram_gib) == verdict.tier


def test_05_no_disk_limit_is_called_out(run: Runner) -> None:
    notebook = run("05_wire_it", disk_gib=0)
    assert "values" not in notebook.names
    assert "danger" in notebook.shown


def test_05_a_relative_path_gets_one_message(run: Runner) -> None:
    notebook = run("05_wire_it", disk_path="cache")
    assert "values" not in notebook.names
    assert "disk_path" in notebook.shown


def test_06_shows_a_dropped_result(run: Runner, language: str) -> None:
    result = json.loads(REFERENCE.read_text())
    result["machine"]["cpu"] = "<i>somebody's</i> CPU"
    shown = run("06_prove_it", language, dropped=json.dumps(result).encode()).shown
    assert "&lt;i&gt;somebody" in shown
    assert f"{result['summary']['cold_over_ssd_reuse']:.1f}x" in shown
    assert f"{result['summary']['ceiling']['effective_bandwidth_discount']:.2f}" in shown


def test_06_shows_the_evidence_of_every_sample(run: Runner) -> None:
    notebook = run("06_prove_it", dropped=REFERENCE.read_bytes())
    assert notebook.shown.count("<tr>") == 1 + len(notebook["result"].samples)


@pytest.mark.parametrize("content", [b" ", b"{", b"\xff\xfe", b"[]", b'{"schema": "kvtiers.lab-result/1"}'])
def test_06_bad_file_gets_one_message(run: Runner, language: str, content: bytes) -> None:
    notebook = run("06_prove_it", language, dropped=content)
    assert "result" not in notebook.names
    assert "danger" in notebook.shown


def test_06_formula(run: Runner) -> None:
    formula = run("06_prove_it")["discount"]
    assert formula(2.3, 10.2) == costs.effective_bandwidth_discount(2.3, 10.2)


def test_07_disk_limit_of_zero_and_restart_cost_hits(run: Runner) -> None:
    rate = run("07_operate_it")["with_stack"].hit_rate
    assert run("07_operate_it", disk_gib=0)["with_stack"].hit_rate < rate
    assert run("07_operate_it", restart=False)["with_stack"].hit_rate > rate
    assert run("07_operate_it", crash=True)["with_stack"].hit_rate < rate


def test_07_only_a_stable_hash_finds_the_remote_tier_again(run: Runner) -> None:
    found, lost = (run("07_operate_it", remote=True, stable_hash=hash_)["with_stack"] for hash_ in (True, False))
    assert found.share(tiers.Tier.REMOTE) > lost.share(tiers.Tier.REMOTE)


def test_08_full_fine_tuning_of_7b_exceeds_100_gb(run: Runner) -> None:
    notebook = run("08_training")
    assert notebook["per_parameter"] == 16
    assert notebook["total_bytes"] == 7e9 * 16
    assert run("08_training", lora=True)["total_bytes"] < 0.15 * notebook["total_bytes"]


def test_08_formula(run: Runner) -> None:
    formula = run("08_training")["adam_bytes"]
    assert formula() == 2 * 2 + training.optimizer_bytes_per_parameter("bf16", "adam") == 16
