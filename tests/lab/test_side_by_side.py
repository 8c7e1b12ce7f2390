"""What is up at once: runs side by side on ports of their own, and the arms of one run as far as memory goes."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.settings import wiring
from kvtiers.settings.wiring import Plan, Platform, Wiring
from lab import launches as launches_module
from lab.engines import launch as launch_module
from lab.engines.launch import HOST, Storage
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.errors import LabError
from lab.knobs import Knobs
from lab.launches import LocalRun, dry_run, pool_of, process_groups
from machine import memory
from machine.gpu import Card

TINY = LocalRun(PRESETS["tiny"], Knobs())
STORAGE = Storage(Path("/RUN"), 1, l1_gib=0.5, staging_gib=1, direct_io=True)


def test_two_runs_at_once_take_different_ports_and_engines_can_listen_on_them() -> None:
    with reserved_ports(2) as first, reserved_ports(2) as second, socket.socket() as engine:
        assert len({*first, *second}) == 4
        engine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as vLLM does
        engine.bind((HOST, first[0]))
        engine.listen()
        with reserved_ports(2) as third:
            assert not {*third} & {*first, *second}


def test_a_port_that_is_asked_for_and_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"port {port} on 127.0.0.1 is in use"), reserved_ports(1, port):
            pass


@pytest.mark.parametrize("first", [65533, 65534, 65535])
def test_ports_past_the_last_are_refused_where_they_would_be_printed_too(first: int) -> None:
    with pytest.raises(LabError, match=f"--port {first}: .* so 65532 at most"), reserved_ports(4, first):
        pass
    with pytest.raises(LabError, match="so 65532 at most"):
        dry_run(replace(TINY, port=first))


def test_a_port_that_is_asked_for_is_the_first_of_the_arms() -> None:
    assert [launch.port for launch in dry_run(replace(TINY, port=9000))] == [9002, 9000, 9001]


@pytest.mark.parametrize(
    ("room_gib", "together"),
    [
        (8, [["LMCache server", "lmcache engine", "control engine"]]),
        (2, [["LMCache server", "lmcache engine"], ["control engine"]]),
    ],
)
def test_arms_run_one_after_the_other_where_memory_does_not_hold_both(
    room_gib: int, together: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory_bytes", lambda: room_gib * memory.GIB)
    together_now = process_groups(TINY, pool_of(TINY), STORAGE, dry_run(TINY))
    assert [[launch.name for launch in group] for group in together_now] == together


GIB = 2**30
BOTH = [["LMCache server", "lmcache engine", "control engine"]]
IN_TURN = [["LMCache server", "lmcache engine"], ["control engine"]]


def card(total_gib: float, free_gib: float) -> Card:
    return Card(2, "GPU-1", "NVIDIA Some Card", "580.95.05", (8, 9), int(total_gib * GIB), int(free_gib * GIB))


@pytest.mark.parametrize(
    ("preset", "total", "free", "together"),
    [
        ("qwen3-4b-awq", 8, 7.5, IN_TURN),
        ("qwen3-4b-awq", 24, 23, BOTH),
        ("qwen3-4b-awq", 24, 7, IN_TURN),
        ("qwen3-8b-fp8", 16, 15.3, IN_TURN),
        ("qwen3-32b-fp8", 80, 78, BOTH),
    ],
)
def test_on_a_gpu_too_both_arms_are_up_where_its_free_memory_holds_them(
    preset: str, total: float, free: float, together: list[list[str]]
) -> None:
    wanted = LocalRun(PRESETS[preset], Knobs(), card=card(total, free))
    groups = process_groups(wanted, pool_of(wanted), STORAGE, dry_run(wanted))
    assert [[launch.name for launch in group] for group in groups] == together


def test_a_card_that_holds_no_engine_is_refused_with_what_to_do() -> None:
    wanted = LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), card=card(24, 3))
    with pytest.raises(LabError, match=r"NVIDIA Some Card, 24576 MiB: 3 GiB of it are free, and the run takes about 5"):
        process_groups(wanted, pool_of(wanted), STORAGE, dry_run(wanted))


def test_ram_that_the_server_of_a_gpu_run_cannot_have_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = LocalRun(PRESETS["qwen3-0.6b"], Knobs(), card=card(24, 23))
    monkeypatch.setattr(launches_module, "available_memory_bytes", lambda: GIB)
    with pytest.raises(LabError, match=r"keeps up to 4 GiB of KV in the system's memory, where 1 GiB can be had"):
        process_groups(wanted, pool_of(wanted), replace(STORAGE, l1_gib=4), dry_run(wanted))


@pytest.mark.parametrize(("total", "share"), [(8, 0.61), (24, 0.20), (80, 0.06)])
def test_an_engine_claims_what_it_needs_of_the_card_and_no_more(total: float, share: float) -> None:
    server, *engines = dry_run(LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), card=card(total, total)))
    for launch in engines:
        claimed = float(launch.command[launch.command.index("--gpu-memory-utilization") + 1])
        assert claimed == share
    for launch in (server, *engines):
        assert launch.environment["CUDA_VISIBLE_DEVICES"] == "2"
        assert launch.environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_users_own_share_comes_after_and_wins() -> None:
    own = ("--gpu-memory-utilization", "0.5")
    wanted = LocalRun(PRESETS["qwen3-0.6b"], Knobs(), card=card(24, 23), engine_arguments=own)
    assert all(launch.command[-2:] == own for launch in dry_run(wanted)[1:])


def test_in_wsl2_memory_is_pinned_and_copied_through_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_module, "in_wsl", lambda: True)
    server, lmcache, control = dry_run(LocalRun(PRESETS["qwen3-0.6b"], Knobs()))
    assert server.command[server.command.index("--supported-transfer-mode") + 1] == "engine_driven"
    assert "--shm-name" in server.command
    planned = wiring.mp_mode(Plan(Wiring.MP_RAM, "m", platform=Platform.WSL2))
    assert planned is not None
    written = json.loads(lmcache.command[-1])["kv_connector_extra_config"]
    assert written["lmcache.mp.mp_transfer_mode"] == planned.transfer == "engine_driven"
    for launch in (lmcache, control):
        assert launch.process_environment({"VLLM_WSL2_ENABLE_PIN_MEMORY": "0"})["VLLM_WSL2_ENABLE_PIN_MEMORY"] == "1"
