"""What LMCache's server logged about a request, from lines as it prints them."""

from pathlib import Path

import pytest

from lab.errors import LabError
from lab.judge import server_log
from lab.judge.server_log import CacheServerLog

COLOURED = (
    "\x1b[32;20m[2026-11-29 17:54:34,915] LMCache INFO:\x1b[0m {} \x1b[3m(storage_manager.py:651:lmcache)\x1b[0m\n"
)


def write(log: Path, *messages: str) -> None:
    with log.open("a") as stream:
        stream.writelines(COLOURED.format(message) for message in messages)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text("before\n")
    return path


def test_the_tier_and_the_load_of_a_reuse(log: Path) -> None:
    follower = CacheServerLog(log)
    line = (
        "Prefetch request completed (L1+L2): 5/5 retained keys (2 L1, 3 L2) in 18.2 ms "
        "(external_request_id=cmpl-kvtiers-7-0-93a79fe7, prefetch_request_id=4)"
    )
    write(log, line, "Retrieved 1280 tokens in 0.036 seconds")
    found = follower.request("kvtiers-7", 0, is_reuse=True)
    assert (found.line, found.keys, found.l1_keys, found.l2_keys) == (line, 5, 2, 3)
    assert (found.prefetch_s, found.retrieved_tokens, found.retrieve_s) == (0.0182, 1280, 0.036)


def test_another_requests_lookup_is_not_this_ones(log: Path) -> None:
    follower = CacheServerLog(log)
    write(
        log,
        "Prefetch request completed (L1+L2): 5/5 retained keys (5 L1, 0 L2) in 1.0 ms "
        "(external_request_id=cmpl-kvtiers-70-0-aa, prefetch_request_id=1)",
    )
    assert follower.request("kvtiers-7", 0, is_reuse=False).keys == 0


def test_a_long_prompt_is_stored_in_parts(log: Path) -> None:
    follower = CacheServerLog(log)
    write(log, "Stored 2048 tokens in 0.071 seconds", "Stored 1792 tokens in 0.029 seconds")
    found = follower.request("kvtiers-1", 3840, is_reuse=False)
    assert found.stored_tokens == 3840
    assert found.store_s == pytest.approx(0.1)
    assert follower.request("kvtiers-2", 0, is_reuse=False).stored_tokens == 0


def test_of_several_ranks_each_moves_the_same_tokens(log: Path) -> None:
    follower = CacheServerLog(log)
    write(log, *["Stored 1280 tokens in 0.040 seconds"] * 4)
    stored = follower.request("kvtiers-1", 1280, is_reuse=False, ranks=4)
    assert (stored.stored_tokens, stored.store_s) == (1280, 0.04)
    write(log, *["Retrieved 1280 tokens in 0.008 seconds"] * 4)
    loaded = follower.request("kvtiers-2", 0, is_reuse=True, ranks=4)
    assert (loaded.retrieved_tokens, loaded.retrieve_s) == (1280, 0.008)


def test_a_store_that_does_not_come_is_told_with_what_came(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_log, "LOG_TIMEOUT_S", 0.0)
    follower = CacheServerLog(log)
    write(log, "Stored 2048 tokens in 0.071 seconds")
    with pytest.raises(LabError, match="2048 tokens stored, 0 retrieved, where 3840 had to be stored"):
        follower.request("kvtiers-1", 3840, is_reuse=False)
