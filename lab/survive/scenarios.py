"""What happens between asking for a document and asking again, and what is expected to come back.

Only whole chunks are kept, and a chunk is found only behind all that come before it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kvtiers.result.survival import Outcome, Scenario
from lab.survive.stage import Answer, Engine, Stage

Prompt = tuple[int, ...]
_DAMAGED = 2  # counted from 0: two chunks are left before it


@dataclass(frozen=True)
class Again:
    """The second time: what is asked, of which engine, how many chunks should come back, and is the answer right?"""

    prompt: Prompt
    engine: Engine
    chunks: int
    same_answer: bool | None = True


def run(stage: Stage, scenario: Scenario) -> Outcome:
    """One scenario; the first engine is up before it and after.

    Raises:
        LabError: when a process ends or never answers.
    """
    prompt = stage.document(scenario, _length(stage, scenario))
    known = stage.files()
    cold = stage.first.ask(prompt)
    stage.settle()
    again = HAPPENS[scenario](stage, prompt, stage.files() - known)
    answer = again.engine.ask(again.prompt)
    if again.engine is stage.second:
        stage.second.stop()
    return _outcome(stage, scenario, cold, again, answer)


def _length(stage: Stage, scenario: Scenario) -> int:
    chunk = stage.wanted.knobs.chunk_tokens
    return chunk - 1 if scenario is Scenario.SHORTER_THAN_A_CHUNK else stage.wanted.knobs.document_tokens


def _outcome(stage: Stage, scenario: Scenario, cold: Answer, again: Again, answer: Answer) -> Outcome:
    same = answer.completion.token_ids == cold.completion.token_ids
    return Outcome(
        scenario=scenario,
        prompt_tokens=len(again.prompt),
        expected_tokens=again.chunks * stage.wanted.knobs.chunk_tokens,
        expected_same_answer=again.same_answer,
        loaded_tokens=answer.loaded_tokens,
        l1_tokens=answer.l1_tokens,
        l2_tokens=answer.l2_tokens,
        same_answer=None if again.same_answer is None else same,
        cold_s=cold.completion.ttft_s,
        again_s=answer.completion.ttft_s,
    )


def _whole(stage: Stage, prompt: Prompt, engine: Engine) -> Again:
    return Again(prompt, engine, len(prompt) // stage.wanted.knobs.chunk_tokens)


def _engine_restart(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    stage.first.restart()
    return _whole(stage, prompt, stage.first)


def _server_restart(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    stage.start_server()
    stage.await_recovery()
    stage.first.push_out()
    return _whole(stage, prompt, stage.first)


def _both_restart(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    stage.first.stop()
    stage.start_server()
    stage.first.start()
    return _whole(stage, prompt, stage.first)


def _second_engine(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    stage.second.start()
    return _whole(stage, prompt, stage.second)


def _changed(place: Callable[[Prompt], int]) -> Callable[[Stage, Prompt, set[Path]], Again]:
    """One token at that place is another."""

    def happens(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
        stage.first.push_out()
        at = place(prompt)
        other = next(token for token in prompt if token != prompt[at])
        changed = (*prompt[:at], other, *prompt[at + 1 :])
        return Again(changed, stage.first, at // stage.wanted.knobs.chunk_tokens, same_answer=None)

    return happens


def _nothing(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    stage.first.push_out()
    return _whole(stage, prompt, stage.first)


def _chunk_lost(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    _in_order(stage, prompt, files)[_DAMAGED].unlink()
    return Again(prompt, stage.first, _DAMAGED)


def _chunk_cut_short(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    victim = _in_order(stage, prompt, files)[_DAMAGED]
    os.truncate(victim, victim.stat().st_size // 2)
    return Again(prompt, stage.first, _DAMAGED)


def _chunks_swapped(stage: Stage, prompt: Prompt, files: set[Path]) -> Again:
    """Another document's chunks in this one's files: nothing in them tells whose they are."""
    known = stage.files()
    another = stage.document("another", len(prompt))
    stage.first.ask(another)
    stage.settle()
    strange = [path.read_bytes() for path in _in_order(stage, another, stage.files() - known)]
    for path, content in zip(_in_order(stage, prompt, files), strange, strict=True):
        path.write_bytes(content)
    return replace(_whole(stage, prompt, stage.first), same_answer=False)


def _in_order(stage: Stage, prompt: Prompt, files: set[Path]) -> list[Path]:
    """The prompt's chunk files by their place in it, which their names hide: stored anew, one by one."""
    for file in files:
        file.unlink()
    _only_files_are_left(stage)
    chunk, found = stage.wanted.knobs.chunk_tokens, list[Path]()
    known = stage.files()
    for end in range(chunk, len(prompt), chunk):
        stage.first.ask(prompt[: end + 1])
        stage.settle()
        (new,) = stage.files() - known
        found.append(new)
        known.add(new)
    _only_files_are_left(stage)
    return found


def _only_files_are_left(stage: Stage) -> None:
    """What is asked next can come from nowhere else."""
    stage.first.push_out()
    stage.settle()
    stage.cache.clear_ram()


# In this order: what needs no start comes first.
HAPPENS: dict[Scenario, Callable[[Stage, Prompt, set[Path]], Again]] = {
    Scenario.SHORTER_THAN_A_CHUNK: _nothing,
    Scenario.FIRST_TOKEN_CHANGED: _changed(lambda prompt: 0),
    Scenario.MIDDLE_TOKEN_CHANGED: _changed(lambda prompt: len(prompt) // 2),
    Scenario.LAST_TOKEN_CHANGED: _changed(lambda prompt: len(prompt) - 1),
    Scenario.CHUNK_LOST: _chunk_lost,
    Scenario.CHUNK_CUT_SHORT: _chunk_cut_short,
    Scenario.CHUNKS_SWAPPED: _chunks_swapped,
    Scenario.SECOND_ENGINE: _second_engine,
    Scenario.ENGINE_RESTART: _engine_restart,
    Scenario.SERVER_RESTART: _server_restart,
    Scenario.BOTH_RESTART: _both_restart,
}
