import pytest

from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier
from kvtiers.ledger.training import (
    Placement,
    Training,
    first_that_fits,
    held,
    held_by_tier,
    moved_bytes_per_step,
    optimizer_bytes_per_parameter,
    overfull,
    transfer_s_per_step,
)
from kvtiers.units import GIB

SEVEN_B = Training(parameters=7e9)


def test_mixed_precision_adam_takes_16_bytes_per_parameter() -> None:
    assert held(SEVEN_B).total_bytes == 7e9 * 16
    assert optimizer_bytes_per_parameter("bf16", "adam") == 12


def test_gpus_share_everything() -> None:
    assert held(Training(7e9, gpus=8)).total_bytes * 8 == pytest.approx(held(SEVEN_B).total_bytes)


def test_lora_keeps_the_weights_and_little_else() -> None:
    parts = held(Training(7e9, trained_share=0.005))
    assert parts.weights_bytes == 14e9
    assert parts.gradients_bytes + parts.optimizer_bytes < 0.05 * parts.weights_bytes


@pytest.mark.parametrize("placement", [Placement(), Placement(Tier.CPU), Placement(Tier.SSD, Tier.CPU)])
def test_every_byte_is_in_some_tier(placement: Placement) -> None:
    by_tier = held_by_tier(SEVEN_B, placement)
    assert sum(kept.total_bytes for kept in by_tier.values()) == held(SEVEN_B).total_bytes


def test_nothing_moves_while_everything_is_in_vram() -> None:
    assert set(moved_bytes_per_step(SEVEN_B, Placement()).values()) == {0.0}


def test_states_are_read_and_written_and_weights_read_twice() -> None:
    moved = moved_bytes_per_step(SEVEN_B, Placement(Tier.SSD, Tier.CPU))
    assert moved[Tier.SSD] == 7e9 * 2 * (2 + 12)
    assert moved[Tier.CPU] == 7e9 * (2 + 2 + 2)


def test_transfer_time_is_bytes_over_decimal_bandwidth() -> None:
    transfer_s = transfer_s_per_step(SEVEN_B, Placement(Tier.SSD), {Tier.CPU: 50, Tier.SSD: 7})
    assert transfer_s[Tier.SSD] == pytest.approx(28.0)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(KvtiersError, match="gpus"):
        held(Training(7e9, gpus=0))


@pytest.mark.parametrize(
    ("vram_gib", "ram_gib", "placement"),
    [
        (128, 0, Placement()),
        (24, 128, Placement(Tier.CPU)),
        (8, 128, Placement(Tier.CPU, Tier.CPU)),
        (24, 64, Placement(Tier.SSD)),
        (8, 64, Placement(Tier.SSD, Tier.CPU)),
        (8, 8, Placement(Tier.SSD, Tier.SSD)),
    ],
)
def test_the_nearest_placement_that_fits_is_found(vram_gib: float, ram_gib: float, placement: Placement) -> None:
    """A 7B model keeps 13 GiB of weights and 91 GiB of gradients and states."""
    room_bytes = {Tier.VRAM: vram_gib * GIB, Tier.CPU: ram_gib * GIB}
    assert first_that_fits(SEVEN_B, room_bytes) == placement
    assert overfull(SEVEN_B, placement, room_bytes) == []


def test_what_fits_nowhere_has_no_placement_and_the_overfull_tiers_are_named() -> None:
    room_bytes = dict.fromkeys((Tier.VRAM, Tier.CPU, Tier.SSD), float(GIB))
    assert first_that_fits(SEVEN_B, room_bytes) is None
    assert overfull(SEVEN_B, Placement(Tier.CPU), room_bytes) == [Tier.VRAM, Tier.CPU]
