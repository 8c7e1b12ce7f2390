"""The balance by hand, and the honest no."""

import json

import pytest

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier
from kvtiers.ledger.worth import PrefixTraffic, Worth, savings

KV_BYTES = 131_072


def of(tier: Tier, traffic: PrefixTraffic, prefill: float = 5000.0, **options: float) -> tuple[float, Worth]:
    found = {saving.tier: saving for saving in savings(traffic, KV_BYTES, prefill, **options)}  # type: ignore[arg-type]
    return found[tier].saved_s_per_day, found[tier].worth


def test_a_day_by_hand() -> None:
    # 8192 tokens at 5000/s: 1.6384 s; 1 GiB at 6 GB/s: 0.17896 s. 240 requests, half hit, a miss pays 15 %.
    saved, worth = of(Tier.SSD, PrefixTraffic(8192, 10, 0.5))
    assert saved == pytest.approx(120 * (1.6384 - 0.178957) - 120 * 0.15 * 1.6384, rel=1e-5)
    assert worth is Worth.YES


def test_only_whole_chunks_come_back() -> None:
    whole, _ = of(Tier.CPU, PrefixTraffic(512, 10, 1.0))
    ragged, _ = of(Tier.CPU, PrefixTraffic(767, 10, 1.0))
    assert ragged == pytest.approx(whole)


@pytest.mark.parametrize(
    ("traffic", "prefill", "worth"),
    [
        (PrefixTraffic(200, 1000, 0.9), 5000, Worth.IMPOSSIBLE),
        (PrefixTraffic(8192, 1000, 0.0), 5000, Worth.LOSES),
        (PrefixTraffic(8192, 1000, 0.9), 100_000, Worth.LOSES),  # faster than the drive can load
        (PrefixTraffic(8192, 1000, 0.16), 5000, Worth.LITTLE),
    ],
)
def test_the_honest_no(traffic: PrefixTraffic, prefill: float, worth: Worth) -> None:
    assert of(Tier.SSD, traffic, prefill)[1] is worth


@pytest.mark.parametrize("repeated", [-0.1, 1.1, float("nan")])
def test_a_share_is_a_share(repeated: float) -> None:
    with pytest.raises(KvtiersError, match="repeated"):
        savings(PrefixTraffic(8192, 10, repeated), KV_BYTES, 5000)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["worth-it", "--kv-bytes-per-token", "131072", "--prefix", "8192", "--requests-per-hour", "10"]
    arguments += ["--repeated", "0.5", "--prefill-tokens-per-s", "5000", "--ssd-gb-per-s", "1.5"]
    assert main([*arguments, "--json"]) == 0
    rows = {row["tier"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ssd"]["reuse_s"] == pytest.approx(2**30 / 1.5e9)
    assert main([*arguments, "--language", "zh-TW"]) == 0
    assert "值得" in capsys.readouterr().out
