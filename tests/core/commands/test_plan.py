"""Whatever ``plan`` writes must pass ``lint``, and its numbers must be the judge's."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.ledger.tiers import Tier, Traffic
from kvtiers.lint import Facts, Source, lint
from kvtiers.settings.advise import Hardware, Served, advise, files
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Platform, Wiring, settings
from kvtiers.units import GIB

KV_BYTES = 131_072
LONG = Traffic(131_072, 20, True)
HOST = Hardware(free_vram_gib=10, cpu_ram_gib=64, drive_free_gib=500)
SERVED = Served("Qwen/Qwen3-8B", KV_BYTES, hybrid=False)


@pytest.mark.parametrize("tensor_parallel", [1, 4])
@pytest.mark.parametrize("wiring", Wiring)
@pytest.mark.parametrize("form", ["environment", "yaml"])
def test_every_generated_configuration_is_clean(wiring: Wiring, form: str, tensor_parallel: int) -> None:
    host = Hardware(free_vram_gib=10, cpu_ram_gib=64, drive_free_gib=500, tensor_parallel=tensor_parallel)
    plan = advise(replace(SERVED, vllm="0.25.1"), LONG, host, wiring=wiring).plan
    assert plan is not None
    parts = files(plan)
    script = "\n".join(parts.get(kind, "") for kind in ("server", "environment", "command"))
    sources = [Source("serve.sh", script)]
    if form == "yaml" and "yaml" in parts:
        script = f"export PYTHONHASHSEED=0\nexport LMCACHE_CONFIG_FILE=lmcache.yaml\n{parts['command']}"
        sources = [Source("serve.sh", script), Source("lmcache.yaml", parts["yaml"])]
    facts = Facts(prefix_tokens=131_072, kv_bytes_per_token=KV_BYTES, drive_gib=500)
    found = lint(sources, facts)
    assert [finding.id for finding in found if finding.certain] == []
    assert ("version_pair_unseen" in [finding.id for finding in found]) is (wiring.mode is LMCacheMode.IN_PROCESS)


def test_people_fill_ram_and_the_judge_sends_them_to_the_drive() -> None:
    advice = advise(SERVED, LONG, HOST)
    assert advice.verdict.tier is Tier.SSD
    assert advice.plan is not None
    assert advice.plan.wiring is Wiring.MP_DRIVE
    assert advice.plan.disk_gib == 400  # 320 GiB of KV and a quarter more
    assert advice.plan.cpu_gib == 64


def test_sizes_are_of_the_server_whatever_the_ranks() -> None:
    plan = advise(SERVED, LONG, Hardware(10, 64, drive_free_gib=500, tensor_parallel=4)).plan
    assert plan is not None
    assert (plan.cpu_gib, plan.disk_gib) == (64, 400)
    assert "--max-workers 4" in files(plan)["server"]


def test_a_tier_is_counted_at_what_it_stores() -> None:
    """An int8 cache of the GPU that is stored as bf16: it fits VRAM, or else takes more below than it did above."""
    two = Traffic(131_072, 2, True)
    wide = Served("m", KV_BYTES / 4, tier_bytes_per_token=KV_BYTES)
    assert advise(wide, two, HOST).verdict.tier is Tier.VRAM
    below = advise(wide, Traffic(131_072, 5, True), HOST)
    assert (below.verdict.tier, below.verdict.needed_bytes) == (Tier.SSD, 80 * GIB)


def test_each_model_type_and_version_has_a_directory_of_its_own() -> None:
    plans = [
        advise(Served(model, KV_BYTES, kv_dtype=dtype, vllm=vllm), LONG, HOST).plan
        for model in ("Qwen/Qwen3-8B", "/models/other")
        for dtype in ("bfloat16", "float16")
        for vllm in ("0.32.0", "0.31.0")
    ]
    paths = {plan.disk_path for plan in plans if plan}
    assert len(paths) == len(plans)
    assert "/mnt/nvme/lmcache/Qwen3-8B-bfloat16-vllm-0.32.0" in paths


def test_a_model_with_states_is_not_put_above_a_tier() -> None:
    hybrid = Served("m", KV_BYTES, hybrid=True)
    advice = advise(hybrid, LONG, HOST)
    assert (advice.plan, [name for name, _ in advice.notes]) == (None, ["hybrid"])
    asked_for = advise(hybrid, LONG, HOST, wiring=Wiring.MP_DRIVE)
    assert asked_for.plan is not None
    names = [name for name, _ in asked_for.notes]
    assert ("hybrid_all_the_same" in names, "hybrid" in names) == (True, False)


def test_what_several_hosts_share_is_wired_to_a_store_they_all_find() -> None:
    plan = advise(SERVED, Traffic(131_072, 1, True, shared=True), HOST).plan
    assert plan is not None
    assert plan.wiring is Wiring.MP_REDIS


@pytest.mark.parametrize(
    ("wiring", "option", "url", "note"),
    [
        (Wiring.MP_REDIS, "redis_url", "redis://cache.internal:6380", "redis_here"),
        (Wiring.MP_S3, "s3_url", "s3://ours.s3.eu-west-1.amazonaws.com", "bucket_made_up"),
    ],
)
def test_a_store_that_nobody_named_is_told_until_it_is_named(
    wiring: Wiring, option: str, url: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> dict[str, Any]:
        assert main([*ARGUMENTS, "--kv-bytes-per-token", "1", "--wiring", wiring, "--json", *arguments]) == 0
        return dict(json.loads(capsys.readouterr().out))

    assert note in [one["id"] for one in said()["notes"]]
    named = said(f"--{option.replace('_', '-')}", url)
    assert note not in [one["id"] for one in named["notes"]]
    assert url.partition("://")[2].partition(":")[0] in named["files"]["server"]


def test_a_redis_of_this_host_is_told_even_where_it_was_named() -> None:
    here = replace(HOST, redis_url="redis://127.0.0.1:7000")
    assert "redis_here" in [name for name, _ in advise(SERVED, LONG, here, wiring=Wiring.MP_REDIS).notes]


def test_a_gpu_that_computes_faster_than_the_drive_loads_gets_no_drive() -> None:
    fast = replace(SERVED, prefill_tokens_per_s=60_000.0)
    assert advise(fast, LONG, HOST).plan is None


@pytest.mark.parametrize(("reused", "prefixes", "tier"), [(False, 20, Tier.NONE), (True, 0.5, Tier.VRAM)])
def test_where_no_tier_helps_nothing_is_wired(reused: bool, prefixes: float, tier: Tier) -> None:
    advice = advise(SERVED, Traffic(131_072, prefixes, reused), HOST)
    assert (advice.verdict.tier, advice.plan) == (tier, None)


def test_the_demo_stages_two_of_the_longest_prefixes() -> None:
    plan = advise(replace(SERVED, vllm="0.25.1"), LONG, HOST, wiring=Wiring.IN_PROCESS_DISK_ONLY).plan
    assert plan is not None
    assert settings(plan)["max_local_cpu_size"] * GIB >= 2 * 131_072 * KV_BYTES


def test_a_drive_that_is_too_small_is_said_and_never_overrun() -> None:
    advice = advise(SERVED, LONG, Hardware(10, 64, drive_free_gib=100))
    assert advice.plan is not None
    assert advice.plan.disk_gib == 90
    assert "drive_too_small" in [name for name, _ in advice.notes]


def notes(wiring: Wiring | None, vllm: str, lmcache: str, host: Hardware = HOST) -> list[str]:
    served = Served("m", KV_BYTES, vllm=vllm, lmcache=lmcache)
    return [name for name, _ in advise(served, LONG, host, wiring=wiring).notes]


def test_versions_are_looked_up_for_the_wiring_and_platform() -> None:
    on_cpu = Hardware(10, 64, platform=Platform.CPU)
    assert "pair_works" in notes(None, "0.32.0", "0.5.6", on_cpu)
    assert "pair_elsewhere" in notes(None, "0.32.0", "0.5.6")
    assert "pair_unknown" in notes(None, "0.99.0", "0.5.6")
    assert notes(Wiring.IN_PROCESS_DISK, "0.32.0", "0.5.6") == ["pair_fails"]
    assert notes(Wiring.IN_PROCESS_DISK, "0.32.0", "") == ["pair_fails"]
    assert "pair_unknown" in notes(Wiring.IN_PROCESS_DISK, "0.25.1", "0.5.1")


@pytest.mark.parametrize(
    ("vllm", "lmcache", "note"),
    [
        ("", "", "pair_may_fail"),
        ("", "0.5.7", "pair_may_fail"),
        ("0.26", "0.5.6", "pair_fails"),
        ("0.32.0", "0.5.7", "pair_unkept"),
        ("0.32.0", "0.6.0", "pair_unkept"),
        ("0.26.0", "1.0", "pair_unkept"),
    ],
)
@pytest.mark.parametrize("platform", [Platform.CUDA, Platform.WSL2])
@pytest.mark.parametrize("wiring", [wiring for wiring in Wiring if wiring.mode is LMCacheMode.IN_PROCESS])
def test_inside_the_engine_there_are_settings_up_to_vllm_0_25_only(
    wiring: Wiring, platform: Platform, vllm: str, lmcache: str, note: str
) -> None:
    host = replace(HOST, platform=platform)
    advice = advise(replace(SERVED, vllm=vllm, lmcache=lmcache), LONG, host, wiring=wiring)
    assert (advice.plan, [name for name, _ in advice.notes]) == (None, [note])
    assert advise(replace(SERVED, vllm="0.25.1", lmcache=lmcache), LONG, host, wiring=wiring).plan


def test_inside_an_engine_without_a_gpu_there_is_no_connector_to_print() -> None:
    with pytest.raises(KvtiersError, match="no connector for a CPU"):
        notes(Wiring.IN_PROCESS_RAM, "0.32.0", "0.5.6", Hardware(10, 64, platform=Platform.CPU))


def test_what_nobody_tried_is_said_of_a_wiring_and_a_platform(capsys: pytest.CaptureFixture[str]) -> None:
    tried_elsewhere = ["--kv-bytes-per-token", "131072", "--vllm", "0.32.0", "--lmcache", "0.5.6"]
    assert main([*ARGUMENTS, *tried_elsewhere]) == 0
    assert "has tried vLLM 0.32.0 with LMCache 0.5.6, wired mp, on CUDA" in capsys.readouterr().out


def test_for_a_release_that_lacks_what_is_written_there_are_no_settings(capsys: pytest.CaptureFixture[str]) -> None:
    old = ["--kv-bytes-per-token", "131072", "--vllm", "0.32.0", "--lmcache", "0.4.6", "--platform", "cpu"]
    assert main([*ARGUMENTS, *old]) == 1
    said = capsys.readouterr().out
    assert "--shm-name (0.4.7)" in said
    assert "lmcache server" not in said


@pytest.mark.parametrize(
    ("vllm", "platform", "reason"), [("0.21.0", Platform.CUDA, r"0\.22"), ("0.32.0", Platform.CPU, "needs a GPU")]
)
def test_an_engine_without_tiering_is_refused(vllm: str, platform: Platform, reason: str) -> None:
    with pytest.raises(KvtiersError, match=reason):
        notes(Wiring.VLLM_TIERING, vllm, "", Hardware(10, 64, platform=platform))


ARGUMENTS = ["plan", "--context", "131072", "--prefixes", "20", "--free-vram-gib", "10", "--cpu-ram-gib", "64"]


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--kv-bytes-per-token", "131072", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["tier"], said["wiring"], said["needed_bytes"]) == ("ssd", "mp_drive", 320 * GIB)
    assert set(said["files"]) == {"server", "command"}
    assert [step["id"] for step in said["proof"]][:1] == ["mp_line"]


def test_json_is_in_one_language(capsys: pytest.CaptureFixture[str]) -> None:
    versions = [
        "--wiring",
        "in_process_disk",
        "--vllm",
        "0.28.0",
        "--lmcache",
        "0.5.4",
        "--kv-bytes-per-token",
        "131072",
    ]
    assert main([*ARGUMENTS, *versions, "--json", "--language", "zh-TW"]) == 1
    said = json.loads(capsys.readouterr().out)
    (note,) = said["notes"]
    assert note["what"] in note["text"]
    assert (note["id"], said["files"]) == ("pair_fails", {})


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_the_text_has_the_arithmetic_and_the_command(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--kv-bytes-per-token", "131072", "--language", language]) == 0
    said = capsys.readouterr().out
    assert "320 GiB" in said
    assert "vllm serve" in said


def test_a_model_is_needed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ARGUMENTS) == 2
    assert "CONFIG or --kv-bytes-per-token" in capsys.readouterr().err
