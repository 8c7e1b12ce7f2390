"""What a scenario gets and what it tells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvtiers.result.survival import Finding, Outcome, Reason, Reply, Scenario
from lab.judge.answers import EXACT_NATS, GAP_NATS
from lab.judge.points import Agreement, agreement
from lab.trials.engine import Answer, Change, Engine, Prompt
from lab.trials.stage import Stage


class CannotTryError(Exception):
    """This machine lacks what a scenario takes."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True)
class Case:
    """A document that was asked for and stored, and the files of its chunks."""

    prompt: Prompt
    cold: Answer
    files: set[Path]


@dataclass(frozen=True)
class Again:
    """What was asked after something happened, of whom, and what came of it. ``cold``: what to compare with, where that
    isn't the case's; ``lives``, ``recovers`` and ``back_s`` as in Finding and Outcome."""

    expected: Finding
    prompt: Prompt
    engine: Engine
    answer: Answer
    cold: Answer | None = None
    lives: bool = True
    recovers: bool | None = None
    back_s: float | None = None


@dataclass(frozen=True)
class Trial:
    """What happens to a stage with a case; the engine ``before``: as planned but for these changes."""

    happens: Callable[[Stage, Case], Again]
    before: Callable[[Stage], Sequence[Change]] = lambda stage: ()


Scenarios = Mapping[Scenario, Trial]


def asked(engine: Engine, prompt: Prompt, tokens: int, reply: Reply = Reply.SAME) -> Again:
    """Ask, where nothing else is expected to have happened."""
    return Again(Finding(tokens, reply), prompt, engine, engine.ask(prompt))


def run(stage: Stage, scenario: Scenario, trial: Trial) -> Outcome:
    """One scenario, from asking for its document to what was found.

    Raises:
        LabError: when a process ends that should not, or never answers.
        CannotTryError: this machine lacks something.
    """
    stage.stand(*trial.before(stage))
    prompt = stage.document(scenario, _length(stage, scenario))
    known = stage.files()
    cold = stage.first.ask(prompt)
    stage.settle()
    try:
        return _outcome(scenario, cold, trial.happens(stage, Case(prompt, cold, stage.files() - known)))
    finally:
        stage.second.stop()


def _outcome(scenario: Scenario, cold: Answer, again: Again) -> Outcome:
    answer = again.answer
    return Outcome(
        scenario=scenario,
        prompt_tokens=len(again.prompt),
        expected=again.expected,
        found=Finding(answer.loaded_tokens, _reply(again, cold), again.lives, again.recovers),
        l1_tokens=answer.l1_tokens,
        l2_tokens=answer.l2_tokens,
        cold_s=cold.first_token_s,
        again_s=answer.first_token_s,
        back_s=again.back_s,
    )


def _length(stage: Stage, scenario: Scenario) -> int:
    chunk = stage.wanted.knobs.chunk_tokens
    return chunk - 1 if scenario is Scenario.SHORTER_THAN_A_CHUNK else stage.wanted.knobs.document_tokens


def _reply(again: Again, cold: Answer) -> Reply:
    first, other = (again.cold or cold).completion, again.answer.completion
    if other is None or first is None:
        return Reply.FAILED
    if again.expected.reply is Reply.CHANGED:
        return Reply.CHANGED
    assert again.engine.process is not None
    precise = "float32" in again.engine.process.launch.command
    # A gap is asked for only where rounding may explain one: that prompt is looked up in LMCache and not loaded.
    gap_nats, tolerance = (lambda *_: None, EXACT_NATS) if precise else (again.engine.client.gap_nats, GAP_NATS)
    how = agreement(first, other, gap_nats, tolerance)
    return Reply.SAME if how in (Agreement.SAME, Agreement.ROUNDING) else Reply.WRONG
