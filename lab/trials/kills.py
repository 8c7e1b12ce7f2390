"""Processes that are killed while something depends on them."""

import threading
import time
from collections.abc import Callable

from kvtiers.result.survival import Finding, Reply
from lab.trials.case import Again, Case
from lab.trials.engine import Answer, Change, Prompt
from lab.trials.stage import Stage

# LMCache's own, of 0.5.6, against what `kvtiers plan` writes.
_DEFAULT_MQ_TIMEOUT_S, _DEFAULT_HEARTBEAT_S = 300.0, 10.0
_LONG_HEARTBEAT_S = 60.0
_POLL_S = 0.002
_INTO_PREFILL = 0.3


def server_killed(stage: Stage, case: Case) -> Again:
    """A request that comes just after waits until the engine's scheduler notices, and is computed. Whether its KV is
    then stored, which kills an engine that copies it itself, depends on whether the worker has noticed too: each has
    a heartbeat of its own."""
    stage.first.push_out()
    stage.kill_server()
    answer = stage.first.attempt(case.prompt)
    return _afterwards(stage, case, case.prompt, answer, Finding(0, None, recovers=True))


def server_killed_storing(stage: Stage, case: Case) -> Again:
    """While a request is computed: its KV can't be stored, and an engine that copies it itself dies of that."""
    kept = stage.new_document("kept")
    stage.forget()
    stage.first.ask(kept)
    stage.settle()
    answer = _while_asked(stage, case, stage.kill_server)
    return _afterwards(stage, case, kept, answer, Finding(0, Reply.FAILED, lives=False, recovers=True))


def server_back_at_once(stage: Stage, case: Case) -> Again:
    """Before the engine could notice: the new server knows no engine, and this one does not tell it anew."""
    stage.first.push_out()
    stage.kill_server()
    stage.start_server()
    answer = stage.first.attempt(case.prompt)
    lives = stage.first.lives(after_error=answer.completion is None)
    return Again(Finding(0, Reply.FAILED, lives=False), case.prompt, stage.first, answer, lives=lives)


def seldom_looking(stage: Stage) -> list[Change]:
    """An engine that notices nothing within this trial."""
    return [stage.with_times(stage.mode.mq_timeout_s, _LONG_HEARTBEAT_S)]


def by_default(stage: Stage) -> list[Change]:
    """An engine with LMCache's own times."""
    return [stage.with_times(_DEFAULT_MQ_TIMEOUT_S, _DEFAULT_HEARTBEAT_S)]


def engine_killed_storing(stage: Stage, case: Case) -> Again:
    """A document that is half stored: what was promised to the server and never came must not be found."""
    prompt = stage.new_document("half stored")
    writing = threading.Thread(target=stage.first.attempt, args=(prompt,))
    writing.start()
    while writing.is_alive() and not stage.cache.pending():
        time.sleep(_POLL_S)
    stage.first.kill()
    writing.join()
    stage.first.start()
    answer = stage.first.ask(prompt)
    stage.forget()
    return Again(Finding(None, Reply.SAME), prompt, stage.first, answer, cold=stage.first.ask(prompt))


def _while_asked(stage: Stage, case: Case, act: Callable[[], None]) -> Answer:
    """``act`` comes while its prefill goes on, so before it is stored."""
    answers = list[Answer]()
    asking = threading.Thread(target=lambda: answers.append(stage.first.attempt(case.prompt)))
    asking.start()
    time.sleep(_INTO_PREFILL * case.cold.first_token_s)
    act()
    asking.join()
    return answers[0]


def _afterwards(stage: Stage, case: Case, kept: Prompt, answer: Answer, expected: Finding) -> Again:
    """Is the engine there, and do hits come back once the server does? An engine that is gone is started anew."""
    lives = stage.first.lives(after_error=answer.completion is None)
    began = time.monotonic()
    stage.start_server()
    if lives:
        stage.await_recovery()
    else:
        stage.first.restart()
    back_s = time.monotonic() - began
    stage.first.push_out()
    recovers = stage.first.ask(kept).loaded_tokens == stage.in_chunks(kept)
    return Again(expected, case.prompt, stage.first, answer, lives=lives, recovers=recovers, back_s=back_s)
