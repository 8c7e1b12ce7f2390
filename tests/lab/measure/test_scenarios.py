"""The announced number of requests is the number that are asked, whatever steps an arm has."""

from typing import cast

import pytest

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Counters
from kvtiers.result.steps import Arm
from lab.knobs import Knobs
from lab.measure import scenarios
from lab.measure.client import Client, Completion
from lab.measure.documents import TokenSource
from lab.measure.scenarios import Experiment, Runner, Target

SOURCE = TokenSource(range(100, 200), seed=0)
BELOW: tuple[Tier | None, ...] = (Tier.CPU, Tier.SSD)


class Answering:
    """Stands for an engine that answers every prompt alike."""

    def complete(self, prompt: tuple[int, ...], max_tokens: int, request_id: str) -> Completion:
        return Completion(len(prompt), (1,) * max_tokens, "", 0.1, 0.01)


@pytest.mark.parametrize("page_cache", [False, True])
@pytest.mark.parametrize("arms", [(Arm.LMCACHE,), (Arm.LMCACHE, Arm.CONTROL)])
def test_as_many_requests_are_asked_as_announced(
    page_cache: bool, arms: tuple[Arm, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenarios, "read_totals", lambda client: {})
    monkeypatch.setattr(scenarios, "await_deltas", lambda client, totals: (Counters(0, 0, 0, 0), totals))
    knobs = Knobs(repeats=2, page_cache=page_cache)
    documents = tuple(SOURCE.document(name, 1330) for name in ("one", "two"))
    experiment = Experiment(documents, SOURCE, 1345, 2, knobs)
    targets = [
        Target(arm, cast(Client, Answering()), lambda: None, BELOW if arm is Arm.LMCACHE else ()) for arm in arms
    ]
    for again in (False, True):
        asked = list[str]()
        list(Runner(experiment, targets, asked.append).run(again))
        assert len(asked) == experiment.requests(targets, again)
