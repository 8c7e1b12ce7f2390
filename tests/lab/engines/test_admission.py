"""What set-up and download would not mend is refused before them; a card in use leaves the CPU."""

from dataclasses import replace
from pathlib import Path

import pytest

from kvtiers.settings.version_pairs import LMCacheMode
from lab import cli
from lab.engines import admission
from lab.engines.admission import admit, fitting
from lab.engines.install import pinned_versions
from lab.engines.presets import DEFAULT_PRESET, PRESETS
from lab.errors import LabError
from lab.knobs import Knobs
from lab.launches import LocalRun
from machine import MachineError, gpu
from machine.gpu import Card, Choice

GIB = 2**30
TINY = LocalRun(PRESETS["tiny"], Knobs())


def card(free_gib: float) -> Card:
    return Card(0, "GPU-1", "NVIDIA Some Card", "580.95.05", (8, 9), 24 * GIB, int(free_gib * GIB))


def run_on(choice: Choice) -> LocalRun:
    return LocalRun(PRESETS[DEFAULT_PRESET[choice.engine]], Knobs(), card=choice.card)


@pytest.mark.parametrize(("free_gib", "engine"), [(23, "cuda"), (6, "cuda"), (5, "cpu"), (2.5, "cpu")])
def test_a_card_that_holds_no_engine_of_the_run_leaves_the_cpu_and_the_reason(free_gib: float, engine: str) -> None:
    choice, run = fitting(Choice("cuda", card(free_gib)), run_on)
    assert (choice.engine, run.preset.engine) == (engine, engine)
    assert ("of it are free" in choice.why) is (engine == "cpu")


@pytest.mark.parametrize(("free_gib", "engine"), [(23, "cuda"), (6, "cpu")])
def test_where_two_have_to_be_up_at_once_a_card_that_holds_one_is_too_small(free_gib: float, engine: str) -> None:
    choice, _ = fitting(Choice("cuda", card(free_gib)), lambda choice: replace(run_on(choice), least_engines=2))
    assert choice.engine == engine


def test_a_card_with_no_room_for_any_engine_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "0, GPU-1, NVIDIA Some Card, 580.95.05, 8.9, 24564, 500"
    monkeypatch.setattr(gpu, "_answer", lambda: answer)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpu.choose("auto").engine == "cpu"
    assert "500 MiB of it are free" in gpu.choose("auto").why
    with pytest.raises(MachineError, match="500 MiB of it are free"):
        gpu.choose("cuda")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), lmcache_mode=LMCacheMode.IN_PROCESS), "is known not to work"),
        (LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), card=card(3)), "3 GiB of it are free"),
        (LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), card=card(6), least_engines=2), "6 GiB of it are free"),
        (replace(TINY, knobs=Knobs(chunk_tokens=100)), "not a multiple of the engine's block"),
        (replace(TINY, knobs=Knobs(document_tokens=200)), "fills no chunk"),
        (replace(TINY, document_paths=(Path("/nowhere/a.txt"),)), "cannot read /nowhere/a.txt"),
        (replace(TINY, cache_root=Path("/dev/shm/kvtiers-test")), "is memory, not a drive"),
        (replace(TINY, cache_root=Path("/")), "must not be /"),
        (replace(TINY, port=65533), "so 65532 at most"),
    ],
)
def test_what_set_up_would_not_mend_is_refused_before_it(
    run: LocalRun, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LabError, match=said):
        admit(run, will_start=True)
    begun: list[str] = []
    monkeypatch.setattr(admission, "chosen", lambda engine, *, must_run=True: Choice(run.preset.engine, run.card))
    monkeypatch.setattr(cli, "choose_preset", lambda *_: run.preset)
    monkeypatch.setattr(cli, "set_up", begun.append)
    monkeypatch.setattr(cli, "LocalRun", lambda *_, **__: run)
    with pytest.raises(LabError, match=said):
        cli.app(["run", "--engine", run.preset.engine], standalone_mode=False)
    assert begun == []


def test_a_run_that_may_start_is_admitted(tmp_path: Path) -> None:
    admit(replace(TINY, cache_root=tmp_path), will_start=True)
    admit(replace(TINY, lmcache_mode=LMCacheMode.IN_PROCESS, cache_root=tmp_path), will_start=True)
    bad = LocalRun(PRESETS["qwen3-4b-awq"], Knobs(), lmcache_mode=LMCacheMode.IN_PROCESS, known_bad=True)
    admit(replace(bad, cache_root=tmp_path), will_start=True)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_the_lock_names_the_versions_that_set_up_brings(engine: str) -> None:
    pinned = pinned_versions(engine)
    assert (pinned.vllm, pinned.lmcache) == ("0.32.0", "0.5.6")


def test_a_users_own_texts_are_not_held_to_the_length_of_the_seeded_document(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("words " * 900)
    small = replace(TINY, knobs=Knobs(pool_tokens=1200), cache_root=tmp_path)
    with pytest.raises(LabError, match="a document of 1330 tokens"):
        admit(small, will_start=False)
    admit(replace(small, document_paths=(text,)), will_start=False)
