"""What the samples of a run say: medians, speedups, where the reuse time went, how far from the ceiling."""

from collections.abc import Sequence
from statistics import median

from kvtiers.ledger.costs import ceiling_speedup, effective_bandwidth_discount
from kvtiers.result.schema import Ceiling, ReuseParts, Sample, Spread, StepSummary, Summary
from kvtiers.result.steps import Arm, Step


def summarize(
    samples: Sequence[Sample],
    kv_bytes_per_token: float | None,
    drive_gb_per_s: float | None = None,
    drive_source: str = "",
) -> Summary:
    """Fold samples into a Summary.

    Args:
        samples: any number, from any arms; a ratio whose steps are missing is None.
        kv_bytes_per_token: from the model's config.json; no ceiling without it.
        drive_gb_per_s: the drive's measured read bandwidth (decimal GB/s); no ceiling without it.
        drive_source: how that bandwidth was measured.
    """
    steps = tuple(
        _step_summary(arm, step, group)
        for arm in Arm
        for step in Step
        if (group := [sample for sample in samples if (sample.arm, sample.step) == (arm, step)])
    )
    ttft = {(row.arm, row.step): row.ttft.median_s for row in steps}
    cold = ttft.get((Arm.LMCACHE, Step.COLD))
    reuse = ttft.get((Arm.LMCACHE, Step.SSD_REUSE))
    control_cold = ttft.get((Arm.CONTROL, Step.COLD))
    speedup = _ratio(cold, reuse)
    prefill_tokens_per_s = _prefill_rate(samples)
    ceiling = None
    if kv_bytes_per_token and drive_gb_per_s and prefill_tokens_per_s and speedup:
        limit = ceiling_speedup(prefill_tokens_per_s, kv_bytes_per_token, drive_gb_per_s)
        ceiling = Ceiling(drive_gb_per_s, drive_source, limit, effective_bandwidth_discount(speedup, limit))
    return Summary(
        steps=steps,
        cold_over_ssd_reuse=speedup,
        cold_over_gpu_hit=_ratio(cold, ttft.get((Arm.LMCACHE, Step.GPU_HIT))),
        evicted_recompute_over_ssd_reuse=_ratio(ttft.get((Arm.CONTROL, Step.EVICTED_RECOMPUTE)), reuse),
        cold_over_control_cold=_ratio(cold, control_cold),
        store_s=_store_s(samples),
        prefill_tokens_per_s=prefill_tokens_per_s,
        reuse_parts=_reuse_parts(samples),
        ceiling=ceiling,
    )


def _step_summary(arm: Arm, step: Step, group: Sequence[Sample]) -> StepSummary:
    return StepSummary(
        arm, step, len(group), _spread([sample.ttft_s for sample in group]), _spread([s.tpot_s for s in group])
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over and under else None


def _store_s(samples: Sequence[Sample]) -> float | None:
    costs = [s.evidence.log.store_s for s in samples if s.step is Step.COLD and s.evidence.log]
    return median(costs) if costs else None


def _prefill_rate(samples: Sequence[Sample]) -> float | None:
    """Tokens a second of cold requests that store nothing, where a control arm ran; else of those with LMCache."""
    for arm in (Arm.CONTROL, Arm.LMCACHE):
        rates = [s.prompt_tokens / s.ttft_s for s in samples if (s.arm, s.step) == (arm, Step.COLD)]
        if rates:
            return median(rates)
    return None


def _reuse_parts(samples: Sequence[Sample]) -> ReuseParts | None:
    reused = sorted((s for s in samples if s.step is Step.SSD_REUSE and s.evidence.log), key=lambda s: s.ttft_s)
    if not reused:
        return None
    typical = reused[(len(reused) - 1) // 2]
    log = typical.evidence.log
    assert log is not None
    tail_tokens = typical.prompt_tokens - log.computed_tokens - log.retrieved_tokens
    return ReuseParts(log.retrieve_s, max(0.0, typical.ttft_s - log.retrieve_s), tail_tokens)
