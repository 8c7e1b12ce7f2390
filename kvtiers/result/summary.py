"""What the samples of a run say: medians, speedups, where the reuse time went."""

from collections.abc import Sequence
from statistics import median

from kvtiers.result.schema import ReuseParts, Sample, Spread, StepSummary, Summary
from kvtiers.result.steps import Arm, Step


def summarize(samples: Sequence[Sample], document: str) -> Summary:
    """Fold the samples of one document, of any arm, into a Summary; a ratio whose steps are missing is None.

    There is no ceiling in it: a drive's speed depends on how it is read, and LMCache reads as none but LMCache does.
    What it spent on the drive stands in ``reuse_parts``.
    """
    samples = [sample for sample in samples if sample.document == document]
    steps = tuple(
        StepSummary(arm, step, len(group), _spread([s.ttft_s for s in group]), _spread([s.tpot_s for s in group]))
        for arm in Arm
        for step in Step
        if (group := [sample for sample in samples if (sample.arm, sample.step) == (arm, step)])
    )
    ttft = {(row.arm, row.step): row.ttft.median_s for row in steps}
    cold, reuse = (ttft.get((Arm.LMCACHE, step)) for step in (Step.COLD, Step.SSD_REUSE))
    return Summary(
        document=document,
        steps=steps,
        cold_over_gpu_hit=_ratio(cold, ttft.get((Arm.LMCACHE, Step.GPU_HIT))),
        cold_over_cpu_hit=_ratio(cold, ttft.get((Arm.LMCACHE, Step.CPU_HIT))),
        cold_over_ssd_reuse=_ratio(cold, reuse),
        cold_over_ssd_after_restart=_ratio(cold, ttft.get((Arm.LMCACHE, Step.SSD_AFTER_RESTART))),
        evicted_recompute_over_ssd_reuse=_ratio(ttft.get((Arm.CONTROL, Step.EVICTED_RECOMPUTE)), reuse),
        cold_over_control_cold=_ratio(cold, ttft.get((Arm.CONTROL, Step.COLD))),
        store_s=_store_s(samples),
        prefill_tokens_per_s=_prefill_rate(samples),
        reuse_parts=tuple(parts for step in Step if step.is_reuse and (parts := _reuse_parts(samples, step))),
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over and under else None


def _store_s(samples: Sequence[Sample]) -> float | None:
    costs = [s.evidence.moved.store_s for s in samples if s.step is Step.COLD and s.evidence.moved]
    return median(costs) if costs else None


def _prefill_rate(samples: Sequence[Sample]) -> float | None:
    """Tokens a second of cold requests that store nothing, where a control arm ran; else of those with LMCache."""
    for arm in (Arm.CONTROL, Arm.LMCACHE):
        rates = [s.prompt_tokens / s.ttft_s for s in samples if (s.arm, s.step) == (arm, Step.COLD)]
        if rates:
            return median(rates)
    return None


def _reuse_parts(samples: Sequence[Sample], step: Step) -> ReuseParts | None:
    reused = sorted((s for s in samples if s.step is step and s.evidence.moved), key=lambda s: s.ttft_s)
    if not reused:
        return None
    typical = reused[(len(reused) - 1) // 2]
    moved, counters = typical.evidence.moved, typical.evidence.counters
    assert moved is not None
    prefetch_s, prefill_s = 0.0, counters.prefill_s
    if typical.evidence.server_log:
        prefetch_s = typical.evidence.server_log.prefetch_s
    else:
        prefill_s = max(0.0, prefill_s - moved.retrieve_s)  # inside the engine a load is part of the prefill
    return ReuseParts(
        step=step,
        ttft_s=typical.ttft_s,
        prefetch_s=prefetch_s,
        retrieve_s=moved.retrieve_s,
        prefill_s=prefill_s,
        rest_s=max(0.0, typical.ttft_s - prefetch_s - moved.retrieve_s - prefill_s),
        tail_tokens=typical.prompt_tokens - counters.own_hits - moved.retrieved_tokens,
    )
