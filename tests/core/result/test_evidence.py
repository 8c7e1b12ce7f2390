"""A sample is what its name says only if the log and the counters say so too."""

from dataclasses import replace

import pytest

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Counters, Evidence, ServerCounters, contradictions
from kvtiers.result.steps import Step
from tests.core.builders import TOKENS, evidence, mp_evidence


@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("with_log", [True, False])
def test_good_evidence_contradicts_nothing(step: Step, with_log: bool) -> None:
    assert contradictions(step, TOKENS, evidence(step, with_log)) == ()


@pytest.mark.parametrize("named", Step)
@pytest.mark.parametrize("really", Step)
def test_no_step_passes_for_another(named: Step, really: Step) -> None:
    by_counters_alone = bool(contradictions(named, TOKENS, evidence(really, with_log=False)))
    alike = named.tier is really.tier or (named.is_reuse and really.is_reuse)
    assert by_counters_alone is not alike


def test_a_planned_load_that_did_not_happen_is_caught() -> None:
    good = evidence(Step.SSD_REUSE)
    assert good.log is not None
    broken = replace(good, log=replace(good.log, retrieved_tokens=256))
    assert contradictions(Step.SSD_REUSE, TOKENS, broken) == (
        "LMCache planned to load 1280 tokens and retrieved 256",
        "LMCache logged 256 tokens loaded, and the engine counted 1280",
    )


def test_another_client_on_the_server_is_caught() -> None:
    shared = Evidence(None, None, None, Counters(2 * TOKENS, 0, 2 * TOKENS, 0), (1,))
    assert "another client" in contradictions(Step.COLD, TOKENS, shared)[0]


def test_the_engine_still_holding_tokens_is_not_a_reuse_from_ssd() -> None:
    held = replace(evidence(Step.SSD_REUSE), counters=Counters(TOKENS, 128, TOKENS - 128, 1152))
    said = contradictions(Step.SSD_REUSE, TOKENS, held)
    assert said[0] == "the engine still held 128 tokens in its own prefix cache"


def test_an_answer_without_a_token_proves_nothing() -> None:
    assert contradictions(Step.COLD, TOKENS, replace(evidence(Step.COLD), token_ids=())) == ("no token was generated",)


@pytest.mark.parametrize("named", Step)
@pytest.mark.parametrize("really", Step)
def test_lmcaches_server_tells_its_ram_from_what_lies_below(named: Step, really: Step) -> None:
    untold = named.tier is None and really.is_reuse
    alike = named.tier is really.tier or untold
    alike |= really.tier is None and named.tier is Tier.CPU  # the builder lets a tier untold be RAM
    assert bool(contradictions(named, TOKENS, mp_evidence(really))) is not alike


def test_the_servers_witnesses_must_agree_with_the_step_each_by_itself() -> None:
    good = mp_evidence(Step.CPU_HIT)
    assert good.server_log is not None
    drive = replace(good, server_log=replace(good.server_log, l1_keys=0, l2_keys=5))
    assert contradictions(Step.CPU_HIT, TOKENS, drive) == (
        "the server's log must show L1 > 0, L2 0; it shows L1 0, L2 5",
    )
    counted = replace(good, server_counters=ServerCounters(1280, 1024, 256))
    assert "the server's counters must show" in contradictions(Step.CPU_HIT, TOKENS, counted)[0]
    unloaded = replace(good, server_log=replace(good.server_log, retrieved_tokens=0))
    assert "LMCache's server logged no load" in contradictions(Step.CPU_HIT, TOKENS, unloaded)
    part = replace(good, server_log=replace(good.server_log, l1_keys=4))
    assert contradictions(Step.CPU_HIT, TOKENS, part) == ("LMCache's server retained 4 of 5 keys",)


REUSES = [step for step in Step if step.is_reuse]


@pytest.mark.parametrize("step", REUSES)
@pytest.mark.parametrize("external", [256, 512, 1024, 1279])
def test_an_engine_that_loaded_another_amount_than_the_server_found_is_caught(step: Step, external: int) -> None:
    good = mp_evidence(step)
    less = replace(good, counters=Counters(TOKENS, 0, TOKENS, external))
    for witnesses in (less, replace(less, server_log=None), replace(less, server_counters=None)):
        assert any(f"the engine counted {external}" in said for said in contradictions(step, TOKENS, witnesses))


@pytest.mark.parametrize("step", REUSES)
def test_a_server_that_found_a_part_of_what_was_looked_up_is_caught(step: Step) -> None:
    good = mp_evidence(step)
    assert good.server_counters is not None
    l1, l2 = (0, 256) if step.tier is Tier.SSD else (256, 0)
    part = replace(good, server_counters=ServerCounters(1280, l1, l2))
    assert contradictions(step, TOKENS, part) == (
        "LMCache's server found 256 of 1280 tokens, and the engine counted 1280 loaded",
    )
    alone = replace(part, server_log=None, counters=Counters(TOKENS, 0, TOKENS, 256))
    assert "found 256 of 1280 tokens" in contradictions(step, TOKENS, alone)[-1]


@pytest.mark.parametrize(("step", "counters"), [(Step.GPU_HIT, (128, 0)), *((step, (0, 256)) for step in REUSES)])
def test_a_hit_of_a_part_of_the_document_is_none(step: Step, counters: tuple[int, int]) -> None:
    own, external = counters
    little = replace(evidence(step, with_log=False), counters=Counters(TOKENS, own, TOKENS - own, external))
    assert f"{own or external} of {TOKENS} tokens" in contradictions(step, TOKENS, little)[0]


@pytest.mark.parametrize("block", [16, 64, 128, 544, 1056, 1329])
def test_a_gpu_hit_of_all_whole_blocks_is_one_whatever_the_block(block: int) -> None:
    own = (TOKENS - 1) // block * block
    hit = replace(evidence(Step.GPU_HIT, with_log=False), counters=Counters(TOKENS, own, TOKENS - own, 0))
    assert contradictions(Step.GPU_HIT, TOKENS, hit) == ()
