"""What a tier costs to own: its price, its power, and the writes that wear a drive out.

Prices and watts are the caller's; they move too fast to be built in. TBW, terabytes written, is the drive maker's
rating, in decimal terabytes.
"""

from dataclasses import dataclass

from kvtiers.units import GB, GIB, positive

TB = 1000 * GB
DAYS_PER_YEAR = 365.25
HOURS_PER_YEAR = DAYS_PER_YEAR * 24


@dataclass(frozen=True)
class Rate:
    """Price in any currency per decimal GB, and watts per decimal TB while in use."""

    price_per_gb: float
    watts_per_tb: float


def price(size_gib: float, rate: Rate) -> float:
    """What ``size_gib`` of a tier costs to buy."""
    return size_gib * GIB / GB * rate.price_per_gb


def energy_kwh_per_year(size_gib: float, rate: Rate) -> float:
    """Energy of ``size_gib`` of a tier, on all year."""
    return size_gib * GIB / TB * rate.watts_per_tb / 1000 * HOURS_PER_YEAR


def terabytes_written_per_year(new_tokens_per_day: float, kv_bytes_per_token: float) -> float:
    """TBW per year when the KV of every new token is stored once."""
    daily_bytes = positive("new_tokens_per_day", new_tokens_per_day) * positive(
        "kv_bytes_per_token", kv_bytes_per_token
    )
    return daily_bytes * DAYS_PER_YEAR / TB


def drive_years(rated_tbw: float, written_tb_per_year: float) -> float:
    """Years until the writes reach the drive's rating."""
    return positive("rated_tbw", rated_tbw) / positive("written_tb_per_year", written_tb_per_year)
