"""What is up at once: runs side by side on ports of their own, and the arms of one run as far as memory goes."""

import socket
from dataclasses import replace

import pytest

from lab.engines.launch import HOST
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.errors import LabError
from lab.knobs import Knobs
from lab.launches import LocalRun, dry_run, pool_of, process_groups
from machine import memory

TINY = LocalRun(PRESETS["tiny"], Knobs())


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
    together_now = process_groups(TINY, pool_of(TINY), 0.5, dry_run(TINY))
    assert [[launch.name for launch in group] for group in together_now] == together


def test_on_a_gpu_there_is_one_engine_at_a_time() -> None:
    wanted = LocalRun(PRESETS["qwen3-0.6b"], Knobs())
    server, lmcache, control = dry_run(wanted)
    assert process_groups(wanted, pool_of(wanted), 0.5, [server, lmcache, control]) == [
        [server, lmcache],
        [control],
    ]
