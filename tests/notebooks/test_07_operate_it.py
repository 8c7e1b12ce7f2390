from kvtiers.ledger import tiers
from tests.notebooks.conftest import Runner


def hit_rate(run: Runner, **controls: float) -> float:
    return float(run("07_operate_it", **controls)["with_stack"].hit_rate)


def test_a_restart_costs_hits_inside_vllm_and_none_with_a_server_and_its_disk(run: Runner) -> None:
    assert hit_rate(run) == hit_rate(run, restart=False)
    assert hit_rate(run, disk_gib=0) < hit_rate(run, disk_gib=0, restart=False)
    legacy = hit_rate(run, in_process=True)
    assert hit_rate(run, in_process=True, crash=True) < legacy < hit_rate(run)


def test_inside_vllm_only_a_stable_hash_finds_the_remote_tier_again(run: Runner) -> None:
    found, lost, server = (
        run("07_operate_it", remote=True, in_process=in_process, stable_hash=stable)["with_stack"]
        for in_process, stable in ((True, True), (True, False), (False, False))
    )
    assert found.share(tiers.Tier.REMOTE) > lost.share(tiers.Tier.REMOTE)
    assert server.hit_rate == found.hit_rate
