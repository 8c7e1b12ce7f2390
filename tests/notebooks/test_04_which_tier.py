from course.lessons.claims import load_claims

from kvtiers.ledger import tiers
from kvtiers.units import KIB, format_count
from tests.lessons.prose import LESSONS
from tests.notebooks.conftest import Runner


def test_fp8_flips_the_judge(run: Runner) -> None:
    """Exercise 1: 128k tokens, 10 GiB of free VRAM."""
    assert run("04_which_tier")["verdict"].tier is tiers.Tier.CPU
    assert run("04_which_tier", kv_type="fp8")["verdict"].tier is tiers.Tier.VRAM


def test_prefixes_fill_ram_and_no_reuse_needs_no_tier(run: Runner) -> None:
    assert run("04_which_tier", prefixes=20)["verdict"].tier is tiers.Tier.SSD
    assert run("04_which_tier", reused=False)["verdict"].tier is tiers.Tier.NONE
    assert run("04_which_tier", shared=True)["verdict"].tier is tiers.Tier.REMOTE


def test_a_fast_gpu_needs_no_drive(run: Runner) -> None:
    assert run("04_which_tier", prefixes=20, prefill_tokens_per_s=64_000)["verdict"].reason is tiers.Reason.SLOWER


def test_only_a_tier_to_turn_on_is_green(run: Runner) -> None:
    assert "success" in run("04_which_tier").shown
    assert "success" not in run("04_which_tier", reused=False).shown


def test_the_drives_life_is_the_lessons(run: Runner) -> None:
    claims = load_claims(LESSONS / "claims.yaml", LESSONS.parent / "lab" / "results" / "reference")
    notebook = run("04_which_tier")
    assert claims["tbw-year"].value == f"{notebook['written_tb']:,.0f}"
    assert claims["drive-years"].value == format_count(notebook["drive_life_years"])


def test_formula(run: Runner) -> None:
    formula = run("04_which_tier")["which_tier"]
    for reused, shared, prefixes, free_vram_gib, cpu_ram_gib in (
        (False, False, 1, 10, 64),
        (True, True, 1, 16, 64),
        (True, False, 1, 16, 64),
        (True, False, 1, 15.9, 64),
        (True, False, 4, 10, 64),
        (True, False, 5, 10, 64),
    ):
        traffic = tiers.Traffic(131_072, prefixes, reused, shared)
        verdict = tiers.judge(traffic, 128 * KIB, free_vram_gib, cpu_ram_gib)
        assert formula(reused, shared, 16 * prefixes, free_vram_gib, cpu_ram_gib) == verdict.tier
