"""Clients that go away: before the first token, in the middle, or because they would wait no longer."""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum

import httpx

from kvtiers.result.survival import Finding, Reply
from lab.measure.counters import read_totals
from lab.trials.case import Again, Case
from lab.trials.engine import Engine, Prompt
from lab.trials.stage import Stage

REQUESTS = 200
_AT_ONCE = 8
_TOKENS = 300  # a chunk and some: each stores something
_BUSY = ("vllm:num_requests_running", "vllm:num_requests_waiting")


class Patience(Enum):
    """When a client goes away."""

    UNTIL_THE_END, BEFORE_A_TOKEN, IN_THE_MIDDLE, OUT_OF_TIME = range(4)


def aborts(stage: Stage, case: Case) -> Again:
    """Many such clients among normal ones."""
    return _among(stage, case, list(itertools.islice(itertools.cycle(Patience), REQUESTS)))


def client_gone(stage: Stage, case: Case) -> Again:
    """One, whose answer had begun."""
    return _among(stage, case, [Patience.IN_THE_MIDDLE])


def _among(stage: Stage, case: Case, patiences: Sequence[Patience]) -> Again:
    """When all have asked, the engine must be idle, and the document be found as before."""
    prompts = [(stage.new_document("aborted", _TOKENS), patience) for patience in patiences]
    with ThreadPoolExecutor(_AT_ONCE) as clients:
        answered = list(clients.map(lambda wanted: _ask(stage.first, *wanted), prompts))
    stage.wait(lambda: _idle(stage.first), "requests that nobody waits for still run")
    for prompt, _ in prompts:
        stage.note(prompt)
    stage.first.push_out()
    stage.settle()
    answer = stage.first.ask(case.prompt)
    normal = [came for came, (_, patience) in zip(answered, prompts, strict=True) if patience is Patience.UNTIL_THE_END]
    expected = Finding(stage.in_chunks(case.prompt), Reply.SAME, recovers=True)
    return Again(expected, case.prompt, stage.first, answer, lives=stage.first.lives(), recovers=all(normal))


def _ask(engine: Engine, prompt: Prompt, patience: Patience) -> bool:
    """Did a whole answer come?"""
    body = {"model": engine.client.model, "prompt": list(prompt), "max_tokens": 32, "stream": True, "ignore_eos": True}
    timeout = httpx.Timeout(10.0, read=0.5 if patience is Patience.OUT_OF_TIME else 600.0)
    address = f"{engine.client.url}/v1/completions"
    try:
        with httpx.stream("POST", address, json=body, timeout=timeout) as response:
            if patience is Patience.BEFORE_A_TOKEN:
                return False
            for line in response.iter_lines():
                if patience is Patience.IN_THE_MIDDLE and line:
                    return False
                if line == "data: [DONE]":
                    return True
    except httpx.HTTPError:
        return False
    return False


def _idle(engine: Engine) -> bool:
    totals = read_totals(engine.client)
    return not any(totals[name] for name in _BUSY)
