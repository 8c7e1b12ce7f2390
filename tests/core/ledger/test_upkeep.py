import pytest

from kvtiers.errors import KvtiersError
from kvtiers.ledger.upkeep import Rate, drive_years, energy_kwh_per_year, price, terabytes_written_per_year
from kvtiers.units import KIB


def test_price_turns_gib_into_decimal_gb() -> None:
    assert price(1000, Rate(price_per_gb=0.2, watts_per_tb=4)) == pytest.approx(214.75, abs=0.01)


def test_a_watt_all_year_is_8766_watt_hours() -> None:
    one_tb_gib = 1e12 / 1024**3
    assert energy_kwh_per_year(one_tb_gib, Rate(price_per_gb=1, watts_per_tb=1)) == pytest.approx(8.766)


def test_stored_tokens_wear_the_drive() -> None:
    written_tb = terabytes_written_per_year(20e6, 128 * KIB)
    assert written_tb == pytest.approx(20e6 * 131072 * 365.25 / 1e12)
    assert drive_years(1200, written_tb) == pytest.approx(1.25, abs=0.01)


def test_no_writes_are_not_a_lifetime() -> None:
    with pytest.raises(KvtiersError, match="new_tokens_per_day"):
        terabytes_written_per_year(0, 128 * KIB)
