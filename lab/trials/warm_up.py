"""After a restart of server and engine: the engine's first request of all, as it is, and with either way of warming up
before it. What is warmed up is a list of prefixes in whole chunks; the question behind them is the user's."""

import itertools

from lab.knobs import FLOODS
from lab.trials.case import Again, Case, asked
from lab.trials.engine import Prompt
from lab.trials.stage import Stage


def nothing(stage: Stage, case: Case) -> Again:
    """It pays for what an engine's first request imports and allocates."""
    _restart_cold(stage)
    return _first_user(stage, case)


def replayed(stage: Stage, case: Case) -> Again:
    """Each prefix is asked for once, this one first: the others push it out of the engine. What a request loads from L2
    need not stay in L1, so either may answer."""
    others = [stage.new_document("another prefix", _other_tokens(stage)) for _ in range(FLOODS)]
    for prompt in others:
        stage.first.ask(prompt)
    stage.settle()
    _restart_cold(stage)
    for prompt in itertools.chain([_prefix(stage, case.prompt)], others):
        stage.first.ask(prompt)
    stage.settle()
    return _first_user(stage, case)


def prefetched(stage: Stage, case: Case) -> Again:
    """The server brings it into RAM; the engine is asked for nothing."""
    _restart_cold(stage)
    stage.cache.prefetch(str(stage.wanted.preset.model), _prefix(stage, case.prompt))
    return _first_user(stage, case)


def _restart_cold(stage: Stage) -> None:
    stage.first.stop()
    stage.start_server()
    stage.first.start(ask_first=False)


def _first_user(stage: Stage, case: Case) -> Again:
    return asked(stage.first, case.prompt, stage.in_chunks(case.prompt))


def _prefix(stage: Stage, prompt: Prompt) -> Prompt:
    """Whole chunks, and one token more: a prompt's last token is always computed."""
    return prompt[: stage.in_chunks(prompt) + 1]


def _other_tokens(stage: Stage) -> int:
    return stage.pool.flood_tokens(stage.wanted.knobs.document_tokens)
