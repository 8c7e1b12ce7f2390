"""What is asked where answers part, of whom, and what a person reads of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from rich.console import Console

from kvtiers.result.schema import Parting, Result, Sample
from kvtiers.result.steps import Arm, Step
from lab.knobs import Knobs
from lab.measure.client import Client
from lab.measure.documents import TokenSource
from lab.measure.scenarios import Experiment, Runner, Target
from lab.measure.server import RequestError
from lab.report.outcome import Collected, assemble, collect
from lab.report.show import sentences, show
from tests.core.builders import result, sample

SOURCE = TokenSource(range(100, 200), seed=0)
EXPERIMENT = Experiment((SOURCE.document("seeded", 1330),), SOURCE, 1345, 2, Knobs(repeats=1))


@dataclass
class Likely:
    """Stands for a client that is asked for logprobs and nothing else."""

    gap: float | None
    refuses: RequestError | None = None
    asked: list[tuple[tuple[int, ...], int, int]] = field(default_factory=list)

    def gap_nats(self, prompt: Sequence[int], first: int, second: int) -> float | None:
        self.asked.append((tuple(prompt), first, second))
        if self.refuses:
            raise self.refuses
        return self.gap


def answered(arm: Arm, step: Step, *token_ids: int) -> Sample:
    plain = sample(arm, step, 0.1)
    return replace(plain, evidence=replace(plain.evidence, token_ids=token_ids))


def collect_from(
    monkeypatch: pytest.MonkeyPatch, collected: Collected, arm: Arm, likely: Likely, *samples: Sample
) -> None:
    """One life of an arm that yields these samples."""
    monkeypatch.setattr(Runner, "run", lambda self, again: iter(samples))
    collect(EXPERIMENT, [Target(arm, cast(Client, likely), lambda: None)], collected)


def test_an_arm_that_runs_later_is_asked_about_its_own_answers_with_the_prompt_up_to_the_parting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected, first, second = Collected(), Likely(0.1), Likely(0.3)
    collect_from(monkeypatch, collected, Arm.LMCACHE, first, answered(Arm.LMCACHE, Step.COLD, 7, 8, 9))
    collect_from(monkeypatch, collected, Arm.CONTROL, second, answered(Arm.CONTROL, Step.COLD, 7, 5, 5))
    ((document, _),) = EXPERIMENT.asked()
    assert first.asked == []
    assert second.asked == [((*document.token_ids, 7), 8, 5)]
    assert collected.partings == [Parting(Arm.CONTROL, Step.COLD, "seeded", 1, 1, 0.3)]


def test_an_answer_that_ends_early_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    collected, likely = Collected(), Likely(0.1)
    samples = answered(Arm.LMCACHE, Step.COLD, 7, 8), answered(Arm.LMCACHE, Step.GPU_HIT, 7)
    collect_from(monkeypatch, collected, Arm.LMCACHE, likely, *samples)
    assert likely.asked == []
    assert collected.partings[0].gap_nats is None


@pytest.mark.parametrize(("status", "problems"), [(400, []), (None, ["gone"])])
def test_a_server_that_refuses_logprobs_leaves_the_gap_open_one_that_is_gone_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, status: int | None, problems: list[str]
) -> None:
    collected, likely = Collected(), Likely(None, RequestError("gone", status))
    samples = answered(Arm.LMCACHE, Step.COLD, 7, 8), answered(Arm.LMCACHE, Step.GPU_HIT, 7, 9)
    collect_from(monkeypatch, collected, Arm.LMCACHE, likely, *samples)
    assert collected.problems == problems
    assert not assembled(collected).valid


def assembled(collected: Collected) -> Result:
    good = result()
    return assemble(
        collected,
        mode=good.mode,
        lmcache_mode=good.lmcache_mode,
        versions=good.versions,
        host=good.machine,
        model=good.model,
        settings=good.settings,
    )


@pytest.mark.parametrize(("gap", "valid"), [(0.3, True), (0.9, False)])
def test_rounding_leaves_a_run_valid_and_is_told_wrong_kv_voids_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], gap: float, valid: bool
) -> None:
    collected = Collected()
    samples = answered(Arm.LMCACHE, Step.COLD, 7, 8, 9), answered(Arm.LMCACHE, Step.GPU_HIT, 7, 5, 5)
    collect_from(monkeypatch, collected, Arm.LMCACHE, Likely(gap), *samples)
    made = assembled(collected)
    assert made.valid is valid
    show(made, Console(width=200))
    said = capsys.readouterr().out
    assert ("GPU hit, with LMCache left the first answer at token 2" in said) is valid
    assert ("so the KV was wrong" in said) is not valid


@pytest.mark.parametrize(("side_by_side", "said"), [(True, False), (False, True), (None, False)])
def test_arms_in_turn_are_told_beside_the_price_of_storing(side_by_side: bool | None, said: bool) -> None:
    good = result()
    made = replace(good, settings=replace(good.settings, side_by_side=side_by_side))
    lines = sentences(made, made.summary)
    (price,) = [number for number, line in enumerate(lines) if "price of storing" in line]
    assert ("one after the other" in lines[price + 1]) is said
