import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtiers.errors import KvtiersError
from kvtiers.units import GB, GIB, format_bytes, format_count, format_seconds, format_times, positive


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (656, "656 B"),
        (131072, "128 KiB"),
        (16 * GIB, "16 GiB"),
        (1.5 * GIB, "1.5 GiB"),
        (2**50, "1 PiB"),
        (1023.8 * 2**20, "1 GiB"),
    ],
)
def test_sizes_are_binary_and_short(size_bytes: float, text: str) -> None:
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (2.274, "2.27 s"),
        (0.0193, "19.3 ms"),
        (5e-6, "5 µs"),
        (0, "0 s"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (121.0, "121 s"),
        (2400, "40 min"),
        (8640, "2.4 h"),
    ],
)
def test_durations_pick_their_unit(time_s: float, text: str) -> None:
    assert format_seconds(time_s) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (16, "16"), (2048, "2.05k"), (45_776, "45.8k"), (1e6, "1M"), (999_600, "1M")]
)
def test_counts_are_in_thousands_and_millions(count: float, text: str) -> None:
    assert format_count(count) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (11.44, "11.4x"),
        (1.049, "1.05x"),
        (1, "1x"),
        (0.0119, "0.012x"),
        (1029.6, "1,030x"),
        (1e7, "10Mx"),
        (1e-7, "< 0.001x"),
    ],
)
def test_ratios_have_no_exponent(ratio: float, text: str) -> None:
    assert format_times(ratio) == text


def test_a_gib_is_seven_percent_more_than_a_gb() -> None:
    assert pytest.approx(1.0737, abs=1e-4) == GIB / GB


@given(st.one_of(st.floats(max_value=0), st.just(float("nan")), st.just(float("inf")), st.booleans(), st.text()))
def test_what_is_not_a_number_above_zero_is_refused_by_name(value: object) -> None:
    with pytest.raises(KvtiersError, match="bandwidth_gb_per_s"):
        positive("bandwidth_gb_per_s", value)  # type: ignore[arg-type]
