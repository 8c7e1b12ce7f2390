"""Logs of real engines (vLLM 0.32.0 on a CPU, LMCache 0.5.6), stopped by SIGINT: each request, and the conclusion.

Lines that say nothing about KV are left out; paths are neutral.
"""

import json
import re
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from kvtiers.logs.read import read_log_text
from kvtiers.logs.requests import Kind

DATA = Path(__file__).parents[1] / "data" / "logs"
REFERENCE = Path(__file__).parents[3] / "lab" / "results" / "reference"
NEUTRAL = ("/models/tiny", "/mnt/kv", "/opt/engine/", "/v1/completions")  # the last: of the API
COLD, ENGINE, TIER, FAILED, MISSED = (
    Kind.COLD,
    Kind.ENGINE_HIT,
    Kind.TIER_HIT,
    Kind.FAILED_LOAD,
    Kind.MISSED_STORED,
)
REQUESTS = {
    "restart": [COLD, ENGINE, COLD, COLD, TIER, COLD, ENGINE],  # the last two after the restart
    "directory_restart": [COLD, TIER],  # a restart between the two
    "hash_drift": [COLD, ENGINE, COLD, ENGINE],  # a restart in the middle
    "lost_recompute": [COLD, COLD, COLD, FAILED, COLD],
    "lost_fail": [COLD, COLD, COLD, COLD, COLD, FAILED, COLD],
    "limit0": [COLD, MISSED, COLD, COLD, COLD],
    "degraded": [COLD, ENGINE, COLD, COLD, COLD],
    "mp_engine": [],  # MP mode's lines name no request
    "mp_server": [],
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_each_request_was(name: str) -> None:
    log = read_log_text((DATA / f"{name}.log").read_text())
    assert [request.kind for request in log.finished] == REQUESTS[name]


@pytest.mark.parametrize(
    ("name", "conclusion", "status"),
    [
        ("restart", "lost_at_restart", 1),
        ("directory_restart", "works", 0),
        ("lost_recompute", "loads_recovered", 1),
        ("lost_fail", "load_failures", 1),
        ("hash_drift", "hash_drift", 1),
        ("mp_engine", "rates_only", 0),
        ("mp_server", "works_unmeasured", 0),
    ],
)
def test_the_conclusion(name: str, conclusion: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--json", str(DATA / f"{name}.log")]) == status
    assert json.loads(capsys.readouterr().out)["conclusion"]["id"] == conclusion


@pytest.mark.parametrize(
    ("name", "conclusion"),
    [("cpu-tiny", "works"), ("cpu-tiny-server", "works_unmeasured"), ("cpu-tiny-engine", "ask_the_server")],
)
def test_the_logs_of_the_reference_runs(name: str, conclusion: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An MP server with one worker, restarted with its engine: two registrations, one at a time."""
    assert main(["diagnose", "--json", str(REFERENCE / f"{name}.log")]) == 0
    assert json.loads(capsys.readouterr().out)["conclusion"]["id"] == conclusion


def test_the_mp_servers_log_tells_what_was_moved() -> None:
    """Cold, the same again from the engine's own cache, two others, from the server; three stores, one load."""
    log = read_log_text((DATA / "mp_server.log").read_text())
    moved = {name: log.tokens[name] for name in ("mp_stored", "mp_loaded", "mp_lookups", "mp_keys_found")}
    assert moved == {"mp_stored": 3 * 1280, "mp_loaded": 1280, "mp_lookups": 2, "mp_keys_found": 10}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.log")), ids=lambda path: path.name)
def test_no_log_tells_whose_machine_it_was(path: Path) -> None:
    absolute = re.findall(r"(?:(?<=://)|(?<![\w./~-]))/[\w.~-]+(?:/[\w.~-]*)*", path.read_text(errors="replace"))
    assert not [place for place in absolute if not place.startswith(NEUTRAL)]
