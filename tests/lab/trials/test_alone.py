"""A stage whose engine has LMCache inside it, and chunk files in the order of their document; no engine is started."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kvtiers.result.survival import Scenario
from kvtiers.settings.version_pairs import LMCacheMode
from lab.engines.presets import PRESETS
from lab.errors import LabError
from lab.knobs import Knobs
from lab.launches import Directories, LocalRun, Staged, pool_of, storage_for
from lab.pairs.prove import FAULTS
from lab.trials.alone import AloneStage
from lab.trials.stage import PORTS, Stage
from lab.trials.survive import in_order

KNOBS = Knobs(repeats=1, control=False, restart=False)
WANTED = LocalRun(PRESETS["tiny"], KNOBS, lmcache_mode=LMCacheMode.IN_PROCESS)


@pytest.fixture
def stage(tmp_path: Path) -> AloneStage:
    storage = storage_for(WANTED, pool_of(WANTED), tmp_path, direct_io=False)
    return AloneStage(WANTED, Staged(Directories(tmp_path, tmp_path), storage, tuple(range(9000, 9000 + PORTS))))


def write(stage: AloneStage, name: str) -> None:
    chunk = int(KNOBS.chunk_tokens * stage.pool.kv_bytes_per_token)
    (stage.directory / f"{name}.pt").write_bytes(bytes(chunk))


def running(check: Callable[[], None]) -> Any:
    return SimpleNamespace(check=check)


def ended() -> None:
    raise LabError("the engine ended")


def test_its_engine_reaches_no_server_and_keeps_nothing_in_ram(stage: AloneStage) -> None:
    launch = stage.first.launch()
    assert "LMCacheMPConnector" not in " ".join(launch.command)
    assert launch.environment["LMCACHE_LOCAL_DISK"] == f"file://{stage.directory}"
    assert launch.environment["LMCACHE_LOCAL_CPU"] == "false"
    assert not stage.server_is_up


def test_a_new_engine_finds_none_of_the_files(stage: AloneStage) -> None:
    assert stage.after_restart(stage.new_document("a")) == 0


def test_it_waits_for_each_whole_chunk_that_was_asked_for_once(stage: AloneStage) -> None:
    stage.first.process = running(ended)
    prompt = stage.new_document("a", 2 * KNOBS.chunk_tokens + 5)
    stage.note(prompt[: KNOBS.chunk_tokens + 1])
    stage.note(prompt)
    write(stage, "first")
    with pytest.raises(LabError, match="the engine ended"):
        stage.settle()
    write(stage, "second")
    stage.settle()


def test_every_scenario_begins_without_what_another_left(stage: AloneStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage.first, "start", lambda: None)
    stage.note(stage.new_document("a"))
    write(stage, "left")
    stage.stand()
    assert stage.files() == set()
    stage.first.process = running(ended)
    stage.settle()


def test_both_modes_have_the_same_faults_and_each_a_restart() -> None:
    inside, beside = FAULTS[LMCacheMode.IN_PROCESS], FAULTS[LMCacheMode.MP]
    assert set(inside) - set(beside) == {Scenario.ENGINE_RESTART}
    assert set(beside) == {Scenario.CLIENT_GONE, Scenario.CHUNK_LOST, Scenario.CHUNKS_SWAPPED}


class Writing:
    """A stage whose engine writes each whole chunk of a prompt to a file, by a name that tells nothing."""

    def __init__(self, per_chunk: int = 1) -> None:
        self.wanted = SimpleNamespace(knobs=SimpleNamespace(chunk_tokens=4))
        self.first, self.per_chunk, self.stored = self, per_chunk, dict[tuple[int, ...], list[Path]]()

    def new_document(self, name: str) -> tuple[int, ...]:
        return tuple(range(14))

    def ask(self, prompt: tuple[int, ...]) -> str:
        for end in range(4, len(prompt) + 1, 4):
            names = [Path(f"{hash((prompt[:end], copy))}.pt") for copy in range(self.per_chunk)]
            self.stored.setdefault(prompt[:end], names)
        return "the whole answer" if len(prompt) == 14 else ""

    def settle(self) -> None:
        pass

    def files(self) -> set[Path]:
        return {path for paths in self.stored.values() for path in paths}


def test_files_are_told_apart_by_storing_one_chunk_after_the_other() -> None:
    stage = Writing()
    case, files = in_order(cast("Stage", stage))
    assert files == [stage.stored[case.prompt[:end]][0] for end in (4, 8, 12)]
    assert str(case.cold) == "the whole answer"
    assert case.files == set(files)


def test_a_chunk_in_two_files_is_no_order() -> None:
    with pytest.raises(LabError, match="in 2 files"):
        in_order(cast("Stage", Writing(per_chunk=2)))
