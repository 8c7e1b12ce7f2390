from kvtiers.ledger import tiers
from tests.notebooks.conftest import Runner


def test_disk_limit_of_zero_and_restart_cost_hits(run: Runner) -> None:
    rate = run("07_operate_it")["with_stack"].hit_rate
    assert run("07_operate_it", disk_gib=0)["with_stack"].hit_rate < rate
    assert run("07_operate_it", restart=False)["with_stack"].hit_rate > rate
    assert run("07_operate_it", crash=True)["with_stack"].hit_rate < rate


def test_only_a_stable_hash_finds_the_remote_tier_again(run: Runner) -> None:
    found, lost = (run("07_operate_it", remote=True, stable_hash=hash_)["with_stack"] for hash_ in (True, False))
    assert found.share(tiers.Tier.REMOTE) > lost.share(tiers.Tier.REMOTE)
