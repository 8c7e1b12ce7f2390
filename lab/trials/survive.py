"""``lab survive``: what is found again. Only whole chunks are kept, and a chunk is found only behind all before it."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kvtiers.result.survival import Finding, Reply, Scenario
from lab.errors import LabError
from lab.trials import redis, warm_up
from lab.trials.aborts import client_gone
from lab.trials.case import Again, Case, Scenarios, Trial, asked
from lab.trials.engine import Engine, Prompt
from lab.trials.stage import Stage

_DAMAGED = 2  # counted from 0: two chunks are left before it


def _whole(stage: Stage, case: Case, engine: Engine, reply: Reply = Reply.SAME) -> Again:
    return asked(engine, case.prompt, stage.in_chunks(case.prompt), reply)


def _engine_restart(stage: Stage, case: Case) -> Again:
    stage.first.restart()
    return asked(stage.first, case.prompt, stage.after_restart(case.prompt))


def _server_restart(stage: Stage, case: Case) -> Again:
    stage.replace_server()
    stage.first.push_out()
    return _whole(stage, case, stage.first)


def _both_restart(stage: Stage, case: Case) -> Again:
    stage.first.stop()
    stage.start_server()
    stage.first.start()
    return _whole(stage, case, stage.first)


def _second_engine(stage: Stage, case: Case) -> Again:
    stage.second.start()
    return _whole(stage, case, stage.second)


def _changed(place: Callable[[Prompt], int]) -> Callable[[Stage, Case], Again]:
    """One token at that place is another."""

    def happens(stage: Stage, case: Case) -> Again:
        stage.first.push_out()
        at = place(case.prompt)
        other = next(token for token in case.prompt if token != case.prompt[at])
        changed = (*case.prompt[:at], other, *case.prompt[at + 1 :])
        return asked(stage.first, changed, stage.in_chunks(case.prompt[:at]), Reply.CHANGED)

    return happens


def _nothing(stage: Stage, case: Case) -> Again:
    stage.first.push_out()
    return _whole(stage, case, stage.first)


def _chunk_lost(stage: Stage, case: Case) -> Again:
    return _one_damaged(stage, Path.unlink)


def _chunk_cut_short(stage: Stage, case: Case) -> Again:
    return _one_damaged(stage, lambda victim: os.truncate(victim, victim.stat().st_size // 2))


def _one_damaged(stage: Stage, damage: Callable[[Path], None]) -> Again:
    """What lies before the damaged one is found."""
    own, files = in_order(stage)
    stage.only_files_are_left()
    damage(files[_DAMAGED])
    answer = stage.first.attempt(own.prompt)
    lives = stage.first.lives(after_error=answer.completion is None)
    expected = Finding(_DAMAGED * stage.wanted.knobs.chunk_tokens, Reply.SAME)
    return Again(expected, own.prompt, stage.first, answer, cold=own.cold, lives=lives)


def in_order(stage: Stage) -> tuple[Case, list[Path]]:
    """A new document that is stored chunk by chunk, and the files of its chunks, whose names hide their place."""
    prompt, chunk, found = stage.new_document("in order"), stage.wanted.knobs.chunk_tokens, list[Path]()
    known = stage.files()
    for end in range(chunk, len(prompt), chunk):
        stage.first.ask(prompt[: end + 1])
        stage.settle()
        new = stage.files() - known
        if len(new) != 1:
            raise LabError(f"a chunk of {chunk} tokens was stored in {len(new)} files, where one was expected")
        found += new
        known |= new
    return Case(prompt, stage.first.ask(prompt), set(found)), found


def _chunks_swapped(stage: Stage, case: Case) -> Again:
    """Another document's chunks in this one's files: nothing in them tells whose they are."""
    own, files = in_order(stage)
    _, strange = in_order(stage)
    stage.only_files_are_left()
    for path, content in zip(files, [path.read_bytes() for path in strange], strict=True):
        path.write_bytes(content)
    return replace(_whole(stage, own, stage.first, Reply.WRONG), cold=own.cold)


# In this order: what needs no start comes first.
SURVIVE: Scenarios = {
    Scenario.SHORTER_THAN_A_CHUNK: Trial(_nothing),
    Scenario.FIRST_TOKEN_CHANGED: Trial(_changed(lambda prompt: 0)),
    Scenario.MIDDLE_TOKEN_CHANGED: Trial(_changed(lambda prompt: len(prompt) // 2)),
    Scenario.LAST_TOKEN_CHANGED: Trial(_changed(lambda prompt: len(prompt) - 1)),
    Scenario.CLIENT_GONE: Trial(client_gone),
    Scenario.CHUNK_LOST: Trial(_chunk_lost),
    Scenario.CHUNK_CUT_SHORT: Trial(_chunk_cut_short),
    Scenario.CHUNKS_SWAPPED: Trial(_chunks_swapped),
    Scenario.SECOND_ENGINE: Trial(_second_engine),
    Scenario.ENGINE_RESTART: Trial(_engine_restart),
    Scenario.SERVER_RESTART: Trial(_server_restart),
    Scenario.BOTH_RESTART: Trial(_both_restart),
    Scenario.FIRST_REQUEST: Trial(warm_up.nothing),
    Scenario.PREFIXES_REPLAYED: Trial(warm_up.replayed),
    Scenario.PREFIXES_PREFETCHED: Trial(warm_up.prefetched),
    Scenario.REDIS_BOTH_RESTART: Trial(redis.both_restart),
    Scenario.REDIS_SECOND_ENGINE: Trial(redis.second_engine),
}
