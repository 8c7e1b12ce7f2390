"""The exact commands of both arms, for every preset. What is tested here is what --dry-run prints."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.result.steps import Arm
from kvtiers.settings import mp, wiring
from kvtiers.settings.version_pairs import LMCacheMode
from kvtiers.settings.wiring import Plan, Platform, Wiring, engine_environment
from kvtiers.units import GIB
from lab.engines.launch import Launch
from lab.engines.presets import PRESETS, choose_preset
from lab.errors import LabError
from lab.knobs import Knobs, pool_for
from lab.launches import LocalRun, dry_run, pool_of, storage_for
from lab.paths import ENGINES, engine_python

TELEMETRY_OFF = {"DO_NOT_TRACK": "1", "LMCACHE_TRACK_USAGE": "false"}
_HARMLESS = ("LMCACHE_TRACK_USAGE", "LMCACHE_DISABLE_BANNER")


def _launches(preset: str, mode: LMCacheMode = LMCacheMode.MP) -> tuple[Launch, Launch]:
    lmcache, control = dry_run(LocalRun(PRESETS[preset], Knobs(), lmcache_mode=mode))[-2:]
    return lmcache, control


def _option(launch: Launch, name: str) -> str:
    return launch.command[launch.command.index(name) + 1]


@pytest.mark.parametrize("mode", LMCacheMode)
@pytest.mark.parametrize("preset", PRESETS)
def test_both_arms_differ_in_lmcache_and_the_port_and_in_nothing_else(preset: str, mode: LMCacheMode) -> None:
    lmcache, control = _launches(preset, mode)
    assert (lmcache.arm, control.arm) == (Arm.LMCACHE, Arm.CONTROL)
    assert _option(lmcache, "--port") == "8100"
    assert _option(control, "--port") == "8101"
    own = {"--kv-transfer-config", _option(lmcache, "--kv-transfer-config"), "8100"}
    assert [part for part in lmcache.command if part not in own] == [p for p in control.command if p != "8101"]
    added = {name for name in lmcache.environment if name not in control.environment}
    assert all(name.startswith("LMCACHE_") or name == "PYTHONPATH" for name in added)
    assert control.environment.items() <= lmcache.environment.items()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_process_binds_to_loopback_and_says_nothing_to_anybody(preset: str) -> None:
    server, *engines = dry_run(LocalRun(PRESETS[preset], Knobs()))
    for launch in (server, *engines):
        assert _option(launch, "--host") == "127.0.0.1"
        assert launch.environment.items() >= TELEMETRY_OFF.items()
    assert _option(server, "--http-host") == "127.0.0.1"
    assert all(engine.environment["VLLM_NO_USAGE_STATS"] == "1" for engine in engines)
    assert all(engine.environment["PYTHONHASHSEED"] == "0" for engine in engines)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_server_runs_as_plan_writes_it_with_ram_and_the_drive_under_test(preset: str) -> None:
    run = LocalRun(PRESETS[preset], Knobs())
    server, lmcache, _ = dry_run(run)
    l1_gib = storage_for(run, pool_of(run), Path("/RUN/chunks"), direct_io=True).l1_gib
    platform = Platform.CPU if run.preset.engine == "cpu" else Platform.CUDA
    plan = Plan(Wiring.MP_DRIVE, "m", cpu_gib=l1_gib, disk_path="/RUN/chunks", platform=platform)
    planned = wiring.mp_mode(plan)
    assert planned is not None
    of_the_run = {"host": "127.0.0.1", "port": 8103, "http_port": 8102, "shm_name": planned.shm_name and "chunks"}
    mode = replace(planned, **of_the_run)  # type: ignore[arg-type]
    assert list(server.command[1:]) == mp.server_command(mode)[1:]
    assert list(lmcache.command[-2:]) == mp.vllm_arguments(mode)
    assert engine_environment(plan).items() <= lmcache.environment.items()
    adapter = json.loads(_option(server, "--l2-adapter"))
    assert adapter == {"type": "fs", "base_path": "/RUN/chunks", "use_odirect": True}
    assert not [name for name in lmcache.environment if name.startswith("LMCACHE_") and name not in _HARMLESS]


def test_an_engine_without_a_gpu_shares_memory_with_the_server_and_is_not_patched() -> None:
    server, lmcache, _ = dry_run(LocalRun(PRESETS["tiny"], Knobs()))
    assert _option(server, "--supported-transfer-mode") == "auto"
    assert _option(server, "--shm-name") == "chunks"
    assert json.loads(_option(lmcache, "--kv-transfer-config"))["kv_connector"] == "LMCacheMPConnector"
    assert "PYTHONPATH" not in lmcache.environment


@pytest.mark.parametrize("preset", PRESETS)
def test_inside_the_engine_lmcache_keeps_to_the_ssd_so_that_a_hit_can_come_from_nowhere_else(preset: str) -> None:
    environment = _launches(preset, LMCacheMode.IN_PROCESS)[0].environment
    assert environment["LMCACHE_LOCAL_CPU"] == "false"
    assert environment["LMCACHE_LOCAL_DISK"].startswith("file:///")
    assert float(environment["LMCACHE_MAX_LOCAL_DISK_SIZE"]) >= 1
    assert environment["LMCACHE_PRE_CACHING_HASH_ALGORITHM"] == "sha256"
    assert environment["LMCACHE_CHUNK_SIZE"] == "256"
    assert json.loads(environment["LMCACHE_EXTRA_CONFIG"]) == {"use_odirect": True}


@pytest.mark.parametrize(
    ("preset", "model", "blocks", "block_size", "connector"),
    [
        ("tiny", "tiny", "22", "128", "LMCacheCPUConnectorV1"),
        ("qwen3-0.6b", "Qwen/Qwen3-0.6B", "43", "64", "LMCacheConnectorV1"),
        ("qwen3-1.7b-fp8", "Qwen/Qwen3-1.7B-FP8", "43", "64", "LMCacheConnectorV1"),
        ("qwen3-0.6b-cpu", "Qwen/Qwen3-0.6B", "22", "128", "LMCacheCPUConnectorV1"),
        ("qwen3-4b-awq", "Qwen/Qwen3-4B-AWQ", "43", "64", "LMCacheConnectorV1"),
    ],
)
def test_the_pool_is_cut_to_the_same_tokens_whatever_the_block(
    preset: str, model: str, blocks: str, block_size: str, connector: str
) -> None:
    lmcache, control = _launches(preset, LMCacheMode.IN_PROCESS)
    for launch in (lmcache, control):
        assert _option(launch, "--model").endswith(model)
        assert _option(launch, "--num-gpu-blocks-override") == blocks
        assert _option(launch, "--block-size") == block_size
        assert _option(launch, "--max-model-len") == "2688"
    transfer = json.loads(_option(lmcache, "--kv-transfer-config"))
    assert (transfer["kv_connector"], transfer["kv_role"]) == (connector, "kv_both")
    assert transfer["kv_load_failure_policy"] == "recompute"


def test_both_cpu_engines_use_the_same_threads() -> None:
    lmcache, control = _launches("tiny")
    assert lmcache.command[0] == str(engine_python("cpu"))
    assert lmcache.environment["OMP_NUM_THREADS"] == control.environment["OMP_NUM_THREADS"]
    assert _launches("tiny", LMCacheMode.IN_PROCESS)[0].environment["PYTHONPATH"] == str(ENGINES / "cpu")


@pytest.mark.parametrize("preset", PRESETS)
def test_no_engine_waits_for_a_download_in_its_start(preset: str) -> None:
    assert all(launch.environment["HF_HUB_OFFLINE"] == "1" for launch in _launches(preset))


def test_settings_of_the_shell_do_not_leak_into_the_experiment() -> None:
    launch = _launches("tiny")[1]
    inherited = {"LMCACHE_LOCAL_CPU": "true", "VLLM_USE_V1": "0", "HOME": "/home/somebody"}
    environment = launch.process_environment(inherited)
    assert environment["HOME"] == "/home/somebody"
    assert "LMCACHE_LOCAL_CPU" not in environment
    assert "VLLM_USE_V1" not in environment


def test_with_the_page_cache_lmcache_reads_and_writes_through_it() -> None:
    knobs = Knobs(page_cache=True)
    server = dry_run(LocalRun(PRESETS["tiny"], knobs))[0]
    assert json.loads(_option(server, "--l2-adapter"))["use_odirect"] is False
    inside = dry_run(LocalRun(PRESETS["tiny"], knobs, lmcache_mode=LMCacheMode.IN_PROCESS))[0]
    assert json.loads(inside.environment["LMCACHE_EXTRA_CONFIG"]) == {"use_odirect": False}


def test_no_control_means_a_server_and_one_engine() -> None:
    names = [launch.name for launch in dry_run(LocalRun(PRESETS["tiny"], Knobs(control=False)))]
    assert names == ["LMCache server", "lmcache engine"]


@pytest.mark.parametrize("tokens", [1330, 2600])
def test_the_servers_ram_holds_a_round_below_the_share_at_which_it_evicts(tokens: int) -> None:
    run = LocalRun(PRESETS["tiny"], Knobs(document_tokens=tokens))
    pool = pool_of(run)
    held = (tokens + 2 * pool.flood_tokens(tokens)) * pool.kv_bytes_per_token
    assert held < 0.8 * GIB * storage_for(run, pool, Path("/RUN"), direct_io=True).l1_gib


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document_tokens": 256}, "fills no chunk of 256"),
        ({"document_tokens": 1280}, "is a multiple of the chunk"),
        ({"document_tokens": 2687}, "do not fit the pool of 2688 tokens: at most 2656"),
        ({"chunk_tokens": 200}, "not a multiple of the engine's block of 128"),
        ({"pool_tokens": 100}, "do not fit the pool"),
    ],
)
def test_knobs_that_cannot_work_are_explained(changes: dict[str, int], message: str) -> None:
    with pytest.raises(LabError, match=message):
        pool_for(
            replace(Knobs(), **changes),  # type: ignore[arg-type]
            128,
            16384,
        )


@pytest.mark.parametrize("document", [300, 1330, 2600])
def test_two_floods_are_at_least_the_pool(document: int) -> None:
    pool = pool_for(replace(Knobs(), document_tokens=document), 128, 16384)
    flood = pool.flood_tokens(document)
    assert 2 * flood >= pool.tokens
    assert flood < pool.tokens


def test_a_model_directory_needs_a_config(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"has no config\.json"):
        choose_preset(None, str(tmp_path), "cpu")
    (tmp_path / "config.json").write_text("{}")
    assert choose_preset(None, str(tmp_path), "cpu").model == str(tmp_path)


@pytest.mark.parametrize(
    ("preset", "model", "engine", "message"),
    [
        ("huge", None, "cpu", "no preset 'huge'"),
        ("tiny", None, "cuda", "is for --engine cpu"),
        ("tiny", "a/b", "cpu", "exclude each other"),
        (None, "./nowhere", "cpu", "neither a directory nor an id"),
    ],
)
def test_a_wrong_choice_of_model_is_explained(preset: str | None, model: str | None, engine: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        choose_preset(preset, model, engine)
