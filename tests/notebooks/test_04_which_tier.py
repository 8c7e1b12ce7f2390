from kvtiers.ledger import tiers
from kvtiers.units import KIB
from tests.notebooks.conftest import Runner


def test_fp8_flips_the_judge(run: Runner) -> None:
    """Exercise 1: 128k tokens, 10 GiB of free VRAM."""
    assert run("04_which_tier")["verdict"].tier is tiers.Tier.CPU
    assert run("04_which_tier", kv_type="fp8")["verdict"].tier is tiers.Tier.VRAM


def test_users_fill_ram_and_no_reuse_needs_no_tier(run: Runner) -> None:
    assert run("04_which_tier", users=20)["verdict"].tier is tiers.Tier.SSD
    assert run("04_which_tier", reused=False)["verdict"].tier is tiers.Tier.NONE


def test_formula(run: Runner) -> None:
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
