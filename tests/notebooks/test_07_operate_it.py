import pytest

from kvtiers.ledger import tiers
from tests.notebooks.conftest import Runner


def hit_rate(run: Runner, **controls: float) -> float:
    return float(run("07_operate_it", **controls)["with_stack"].hit_rate)


def test_a_restart_costs_hits_inside_vllm_and_none_with_a_server_and_its_disk(run: Runner) -> None:
    assert hit_rate(run) == hit_rate(run, restart=False)
    assert hit_rate(run, disk_gib=0) < hit_rate(run, disk_gib=0, restart=False)
    legacy = hit_rate(run, in_process=True)
    assert hit_rate(run, in_process=True, crash=True) < legacy < hit_rate(run)


def test_inside_vllm_only_a_stable_hash_finds_the_remote_tier_again(run: Runner) -> None:
    found, lost, server = (
        run("07_operate_it", remote=True, in_process=in_process, stable_hash=stable)["with_stack"]
        for in_process, stable in ((True, True), (True, False), (False, False))
    )
    assert found.share(tiers.Tier.REMOTE) > lost.share(tiers.Tier.REMOTE)
    assert server.hit_rate == found.hit_rate


def test_the_playground_follows_its_controls(run: Runner) -> None:
    playground = run("07_operate_it")
    assert playground["my_verdict"].needed_bytes == 20 * 32768 * 147_456
    assert playground["my_verdict"].tier is tiers.Tier.SSD
    assert run("07_operate_it", my_kv_type="fp8")["my_verdict"].tier is tiers.Tier.CPU
    assert run("07_operate_it", my_prefixes=2)["my_verdict"].tier is tiers.Tier.VRAM
    assert run("07_operate_it", my_gb_per_s=3)["my_break_even"] == playground["my_break_even"] / 2


@pytest.mark.parametrize("model", ["Mamba-Codestral-7B", "Whisper-large-v3"])
def test_the_playground_takes_models_that_hardly_grow(run: Runner, model: str) -> None:
    assert run("07_operate_it", my_model=model, my_tokens=1024)["my_verdict"].needed_bytes > 0
