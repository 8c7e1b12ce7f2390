"""What becomes of chunk files: damaged, cut short, deleted, found again after a restart or not. Claims name these."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kvtiers.result.steps import Step
from kvtiers.settings.wiring import Plan, Wiring
from lab.launches import DEFAULT_CACHE_ROOT
from lab.run_directory import run_directory
from tests.engine.life import CHUNK_BYTES, CHUNKS, FLOODS, HELD_TOKENS, Answer, alive, connector, wired

pytestmark = pytest.mark.engine
NAMES = ("damaged", "cut short", "deleted")
ALL_LOADED = (HELD_TOKENS, HELD_TOKENS, HELD_TOKENS)


@dataclass(frozen=True)
class Lives:
    """Answers of two lives of two engines, one on LMCache's local disk, one on a directory as remote store."""

    cold: dict[str, Answer]
    again: dict[str, Answer]
    kept: int  # chunk files of a document that lay there when the second life asked for it
    local_disk_restarted: Answer
    directory_cold: Answer
    directory_restarted: Answer
    deleted_policy_fail: Answer
    next_one: Answer


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """Everything is asked once, here: a restart comes after what it forgets."""
    logs = tmp_path_factory.mktemp("lives")
    with run_directory(DEFAULT_CACHE_ROOT) as disk, run_directory(DEFAULT_CACHE_ROOT) as directory:
        plan = Plan(Wiring.IN_PROCESS_DIRECTORY, "tiny", cpu_gib=1, disk_path=str(directory))
        with alive(logs, {disk: (), directory: [wired(plan)]}) as (first, shared):
            cold = first.store(*NAMES)
            directory_cold = shared.store("damaged")["damaged"]
            first.store(*FLOODS)
            first.chunks["damaged"][2].write_bytes(bytes(CHUNK_BYTES))
            os.truncate(first.chunks["cut short"][2], 1000)
            first.chunks["deleted"][2].unlink()
            again = {name: first.ask(name, Step.SSD_REUSE) for name in NAMES}
            chunks = first.chunks
        fail = connector(kv_load_failure_policy="fail")
        with alive(logs, {disk: [fail], directory: [wired(plan)]}) as (second, shared):
            kept = sum(path.exists() for path in chunks["damaged"])
            local_disk_restarted = second.ask("damaged", Step.COLD)
            directory_restarted = shared.ask("damaged", Step.SSD_REUSE)
            second.store("lost", "other 1", "other 2")
            second.chunks["lost"][2].unlink()
            yield Lives(
                cold,
                again,
                kept,
                local_disk_restarted,
                directory_cold,
                directory_restarted,
                deleted_policy_fail=second.ask("lost"),
                next_one=second.ask("after the failure"),
            )


def test_a_damaged_chunk_gives_another_answer_and_no_error(lives: Lives) -> None:
    answer = lives.again["damaged"]
    assert answer.load == ALL_LOADED
    assert answer.token_ids != lives.cold["damaged"].token_ids
    assert (answer.error, answer.complaints) == ("", [])


def test_in_process_a_chunk_file_cut_short_is_not_noticed(lives: Lives) -> None:
    answer = lives.again["cut short"]
    assert answer.load == ALL_LOADED
    assert (answer.error, answer.complaints) == ("", [])


def test_after_a_restart_the_local_disk_hits_nothing_though_the_files_are_there(lives: Lives) -> None:
    assert lives.kept == CHUNKS
    assert lives.local_disk_restarted.load == (0, 0, 0)
    assert lives.local_disk_restarted.token_ids == lives.cold["damaged"].token_ids


def test_after_a_restart_a_directory_as_remote_store_hits_again(lives: Lives) -> None:
    assert lives.directory_cold.load == (0, 0, 0)
    assert lives.directory_restarted.load == ALL_LOADED
    assert lives.directory_restarted.token_ids == lives.directory_cold.token_ids


def test_a_deleted_chunk_is_computed_again_under_policy_recompute(lives: Lives) -> None:
    answer = lives.again["deleted"]
    found, planned, loaded = answer.load
    assert found == planned == HELD_TOKENS > loaded
    assert answer.token_ids == lives.cold["deleted"].token_ids
    assert answer.error == ""


def test_a_deleted_chunk_fails_the_request_under_policy_fail_and_only_that_one(lives: Lives) -> None:
    assert "error" in lives.deleted_policy_fail.error
    assert "due to KV load failure" in lives.deleted_policy_fail.said
    assert lives.next_one.error == ""
    assert lives.next_one.token_ids
