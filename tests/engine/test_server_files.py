"""Files of LMCache's server: nothing in them tells whose they are or that they are whole. Claims name these."""

import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lab.engines.launch import Launch
from lab.engines.ports import reserved_ports
from lab.engines.presets import PRESETS
from lab.knobs import Knobs
from lab.launches import DEFAULT_CACHE_ROOT, Directories, LocalRun, launches, pool_of, running
from lab.measure.cache_server import CacheServer
from lab.measure.client import Client
from lab.measure.counters import await_deltas, read_totals
from lab.run_directory import run_directory
from tests.engine.life import FLOODS, HELD_TOKENS, TIMEOUT_S, prompt

pytestmark = pytest.mark.engine
PORTS = 3


def planned(dtype: str, directories: Directories, ports: tuple[int, ...]) -> list[Launch]:
    """LMCache's server, and an engine that computes in that type."""
    wanted = LocalRun(replace(PRESETS["tiny"], dtype=dtype), Knobs(control=False))
    return launches(wanted, pool_of(wanted), directories, ports, direct_io=False)


def ask(client: Client, name: str) -> tuple[tuple[int, ...], int]:
    """The answer, and how many tokens came from LMCache."""
    totals = read_totals(client)
    answer = client.complete(prompt(name), 16, name.replace(" ", "-"))
    moved, _ = await_deltas(client, totals)
    return answer.token_ids, moved.external_hits


def test_another_kv_type_hits_fully_and_answers_wrongly_without_an_error(tmp_path: Path) -> None:
    with (
        run_directory(DEFAULT_CACHE_ROOT) as chunks,
        run_directory(Path(tempfile.gettempdir())) as sockets,
        reserved_ports(PORTS) as ports,
    ):
        directories = Directories(chunks, sockets)
        (server, first), (_, second) = (planned(dtype, directories, ports) for dtype in ("bfloat16", "float16"))
        with running([server], tmp_path, TIMEOUT_S) as (process,), closing(CacheServer(process.url, None)) as cache:
            with running([first], tmp_path, TIMEOUT_S) as (engine,), closing(Client(engine.url, "tiny")) as client:
                assert ask(client, "report")[1] == 0
                cache.await_idle(process.check)
            # From RAM it came back right when this was tried; only a file's bytes are taken for what they are not.
            cache.clear_ram()
            with running([second], tmp_path, TIMEOUT_S) as (engine,), closing(Client(engine.url, "tiny")) as client:
                restored, hits = ask(client, "report")
                assert hits == HELD_TOKENS
                for flood in FLOODS:
                    ask(client, flood)
                cache.await_idle(process.check)
                for path in chunks.rglob("*.data"):
                    path.unlink()
                cache.clear_ram()
                computed, hits = ask(client, "report")
                assert hits == 0
    assert restored != computed
