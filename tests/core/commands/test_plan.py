"""Whatever ``plan`` writes must pass ``lint``, and its numbers must be the judge's."""

import json

import pytest

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier, Traffic
from kvtiers.lint import Facts, Source, lint
from kvtiers.settings.advise import Machine, advise, files
from kvtiers.settings.wiring import Wiring, settings
from kvtiers.units import GIB

KV_BYTES = 131_072
LONG = Traffic(131_072, 20, True)
MACHINE = Machine(free_vram_gib=10, cpu_ram_gib=64, drive_free_gib=500)


@pytest.mark.parametrize("tensor_parallel", [1, 4])
@pytest.mark.parametrize("wiring", Wiring)
@pytest.mark.parametrize("form", ["environment", "yaml"])
def test_every_generated_configuration_is_clean(wiring: Wiring, form: str, tensor_parallel: int) -> None:
    machine = Machine(free_vram_gib=10, cpu_ram_gib=64, drive_free_gib=500, tensor_parallel=tensor_parallel)
    plan = advise("Qwen/Qwen3-8B", KV_BYTES, LONG, machine, wiring=wiring).plan
    assert plan is not None
    parts = files(plan)
    script = parts.get("server", "") + "\n" + parts["environment"] + "\n" + parts["command"]
    sources = [Source("serve.sh", script)]
    if form == "yaml" and "yaml" in parts:
        script = f"export PYTHONHASHSEED=0\nexport LMCACHE_CONFIG_FILE=lmcache.yaml\n{parts['command']}"
        sources = [Source("serve.sh", script), Source("lmcache.yaml", parts["yaml"])]
    facts = Facts(prefix_tokens=131_072, kv_bytes_per_token=KV_BYTES, drive_gib=500)
    assert lint(sources, facts) == []


def test_people_fill_ram_and_the_judge_sends_them_to_the_drive() -> None:
    advice = advise("m", KV_BYTES, LONG, MACHINE)
    assert advice.verdict.tier is Tier.SSD
    assert advice.plan is not None
    assert advice.plan.wiring is Wiring.CPU_SSD
    assert advice.plan.disk_gib == 384  # 320 GiB of KV and a fifth more
    assert advice.plan.cpu_gib == 64


def test_sizes_are_per_worker() -> None:
    four = advise("m", KV_BYTES, LONG, Machine(10, 64, drive_free_gib=500, tensor_parallel=4)).plan
    assert four is not None
    assert (four.cpu_gib, four.disk_gib) == (16, 96)


@pytest.mark.parametrize(("reused", "users", "tier"), [(False, 20, Tier.NONE), (True, 0.5, Tier.VRAM)])
def test_where_no_tier_helps_nothing_is_wired(reused: bool, users: float, tier: Tier) -> None:
    advice = advise("m", KV_BYTES, Traffic(131_072, users, reused), MACHINE)
    assert (advice.verdict.tier, advice.plan) == (tier, None)


def test_the_demo_stages_two_of_the_longest_prefixes() -> None:
    plan = advise("m", KV_BYTES, LONG, MACHINE, wiring=Wiring.SSD_DEMO).plan
    assert plan is not None
    assert settings(plan)["max_local_cpu_size"] * GIB >= 2 * 131_072 * KV_BYTES


def test_a_drive_that_is_too_small_is_said_and_never_overrun() -> None:
    advice = advise("m", KV_BYTES, LONG, Machine(10, 64, drive_free_gib=100))
    assert advice.plan is not None
    assert advice.plan.disk_gib == 90
    assert "drive_too_small" in [name for name, _ in advice.notes]


def test_versions_are_looked_up() -> None:
    def notes(vllm: str, lmcache: str) -> list[str]:
        return [
            name for name, _ in advise("m", KV_BYTES, LONG, MACHINE, versions={"vllm": vllm, "lmcache": lmcache}).notes
        ]

    assert "pair_works" in notes("0.32.0", "0.5.6")
    assert "pair_fails" in notes("0.11.0", "0.3.8")
    assert "pair_unknown" in notes("0.31.0", "0.5.1")


def test_an_engine_without_tiering_is_refused() -> None:
    with pytest.raises(KvtiersError, match=r"0\.22"):
        advise("m", KV_BYTES, LONG, MACHINE, wiring=Wiring.VLLM_TIERING, versions={"vllm": "0.21.0"})


ARGUMENTS = ["plan", "--context", "131072", "--users", "20", "--free-vram-gib", "10", "--cpu-ram-gib", "64"]


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--kv-bytes-per-token", "131072", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["tier"], said["wiring"], said["needed_bytes"]) == ("ssd", "cpu_ssd", 320 * GIB)
    assert set(said["files"]) == {"environment", "yaml", "command"}
    assert [step["id"] for step in said["proof"]][:1] == ["disk_line"]


def test_json_is_in_one_language(capsys: pytest.CaptureFixture[str]) -> None:
    versions = ["--vllm", "0.11.0", "--lmcache", "0.3.8", "--kv-bytes-per-token", "131072"]
    assert main([*ARGUMENTS, *versions, "--json", "--language", "zh-TW"]) == 1
    (note,) = (note for note in json.loads(capsys.readouterr().out)["notes"] if note["id"] == "pair_fails")
    assert note["what"] in note["text"]


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_the_text_has_the_arithmetic_and_the_command(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--kv-bytes-per-token", "131072", "--language", language]) == 0
    said = capsys.readouterr().out
    assert "320 GiB" in said
    assert "vllm serve" in said


def test_a_model_is_needed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ARGUMENTS) == 2
    assert "CONFIG or --kv-bytes-per-token" in capsys.readouterr().err
