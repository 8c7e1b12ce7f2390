"""Training has the same idea: what a training step keeps, in which tier, and what it moves.

Sources: mixed-precision Adam keeps 2 bytes of weights, 2 of gradients and 12 of optimizer states (fp32 copy, momentum,
variance) per trained parameter (ZeRO, 2020). With ZeRO-Infinity (2021) gradients go where the optimizer states are.
Activations are not counted. None of this is measured in this project.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kvtiers.ledger.tiers import DEFAULT_BANDWIDTH_GB_PER_S, Tier
from kvtiers.units import GB, positive

# Bytes per parameter of weights and of gradients.
PRECISION_BYTES = {"bf16": 2.0, "fp32": 4.0}
# fp32 values per trained parameter besides the copy of the weights: Adam's momentum and variance, SGD's momentum.
# adam8bit keeps both of Adam's in one byte each.
STATE_BYTES = {"adam": 8.0, "adam8bit": 2.0, "sgd": 4.0}


@dataclass(frozen=True)
class Training:
    """A training run. ``trained_share`` is 1 for full fine-tuning and the adapters' share of parameters for LoRA."""

    parameters: float
    precision: str = "bf16"
    optimizer: str = "adam"
    gpus: int = 1
    trained_share: float = 1.0


@dataclass(frozen=True)
class Placement:
    """The tier that holds the optimizer states (and gradients), and the one that holds the weights."""

    optimizer: Tier = Tier.VRAM
    weights: Tier = Tier.VRAM


@dataclass(frozen=True)
class Held:
    """Bytes per GPU of each part, sharded over all GPUs (ZeRO stage 3)."""

    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float

    @property
    def total_bytes(self) -> float:
        return self.weights_bytes + self.gradients_bytes + self.optimizer_bytes


def optimizer_bytes_per_parameter(precision: str, optimizer: str) -> float:
    """Optimizer states per trained parameter; below fp32, an fp32 copy of the weights belongs to them."""
    fp32_copy_bytes = 0.0 if precision == "fp32" else 4.0
    return fp32_copy_bytes + STATE_BYTES[optimizer]


def held(training: Training) -> Held:
    """What one GPU's share of the run keeps, wherever it is placed."""
    per_gpu = positive("parameters", training.parameters) / positive("gpus", training.gpus)
    trained = per_gpu * positive("trained_share", training.trained_share)
    value_bytes = PRECISION_BYTES[training.precision]
    state_bytes = optimizer_bytes_per_parameter(training.precision, training.optimizer)
    return Held(per_gpu * value_bytes, trained * value_bytes, trained * state_bytes)


def held_by_tier(training: Training, placement: Placement) -> dict[Tier, Held]:
    """What each tier keeps for one GPU, nearest first."""
    parts = held(training)
    return {
        tier: Held(
            parts.weights_bytes if placement.weights is tier else 0.0,
            parts.gradients_bytes if placement.optimizer is tier else 0.0,
            parts.optimizer_bytes if placement.optimizer is tier else 0.0,
        )
        for tier in (Tier.VRAM, Tier.CPU, Tier.SSD)
    }


# From nearest to farthest: the optimizer's states go first, they are the most and the least often read.
PLACEMENTS = (
    Placement(),
    Placement(optimizer=Tier.CPU),
    Placement(optimizer=Tier.CPU, weights=Tier.CPU),
    Placement(optimizer=Tier.SSD),
    Placement(optimizer=Tier.SSD, weights=Tier.CPU),
    Placement(optimizer=Tier.SSD, weights=Tier.SSD),
)


def overfull(training: Training, placement: Placement, room_bytes: Mapping[Tier, float]) -> list[Tier]:
    """The tiers whose room for one GPU is too small; one that is not named has room enough."""
    return [
        tier
        for tier, kept in held_by_tier(training, placement).items()
        if kept.total_bytes > room_bytes.get(tier, float("inf"))
    ]


def first_that_fits(training: Training, room_bytes: Mapping[Tier, float]) -> Placement | None:
    """The nearest placement in which no tier is overfull. Activations and the shards in use need room besides."""
    return next((placement for placement in PLACEMENTS if not overfull(training, placement, room_bytes)), None)


def moved_bytes_per_step(training: Training, placement: Placement) -> dict[Tier, float]:
    """Bytes that cross into or out of each lower tier in one step, for one GPU.

    Weights are read for the forward and for the backward pass, and what was trained is written back. Gradients and
    optimizer states are written once and read once; the updated weights come out of that read.
    """
    parts = held(training)
    trained_weights_bytes = parts.gradients_bytes  # one value per trained parameter, in the weights' precision
    moved = {Tier.CPU: 0.0, Tier.SSD: 0.0}
    if placement.weights in moved:
        moved[placement.weights] += 2 * parts.weights_bytes + trained_weights_bytes
    if placement.optimizer in moved:
        moved[placement.optimizer] += 2 * (parts.gradients_bytes + parts.optimizer_bytes)
    return moved


def transfer_s_per_step(
    training: Training,
    placement: Placement,
    bandwidth_gb_per_s: Mapping[Tier, float] = DEFAULT_BANDWIDTH_GB_PER_S,
) -> dict[Tier, float]:
    """Seconds of transfer per step and lower tier, if nothing is hidden behind computing."""
    return {
        tier: moved_bytes / (positive(f"bandwidth_gb_per_s of {tier}", bandwidth_gb_per_s[tier]) * GB)
        for tier, moved_bytes in moved_bytes_per_step(training, placement).items()
    }
