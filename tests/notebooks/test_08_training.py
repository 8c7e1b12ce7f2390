from kvtiers.ledger import training
from tests.notebooks.conftest import Runner


def test_full_fine_tuning_of_7b_exceeds_100_gb(run: Runner) -> None:
    notebook = run("08_training")
    assert notebook["per_parameter"] == 16
    assert notebook["total_bytes"] == 7e9 * 16
    assert run("08_training", lora=True)["total_bytes"] < 0.15 * notebook["total_bytes"]


def test_formula(run: Runner) -> None:
    formula = run("08_training")["adam_bytes"]
    assert formula() == 2 * 2 + training.optimizer_bytes_per_parameter("bf16", "adam") == 16


def test_it_says_what_fits(run: Runner) -> None:
    assert run("08_training")["overfull"] == []
    small = run("08_training", vram_gib=8)
    assert small["overfull"] == ["vram"]
    assert (small["first"].optimizer, small["first"].weights) == ("cpu", "cpu")
    assert "too large" in small.prose
