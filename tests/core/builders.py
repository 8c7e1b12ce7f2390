"""Small, plausible results for tests. Times are made up and round."""

from dataclasses import replace

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Counters, Evidence, RequestLog, ServerCounters, ServerLog
from kvtiers.result.schema import SCHEMA, Host, Mode, Model, Result, Sample, Settings, Versions
from kvtiers.result.steps import Arm, Step
from kvtiers.result.summary import summarize
from kvtiers.settings.version_pairs import LMCacheMode

TOKENS = 1330
KV_BYTES = 16384
_HIT = 1280
# By the tier that answers: C, H, L and retrieved of the log line, and the counters.
_LOGGED: dict[Tier | None, tuple[int, int, int, int]] = {Tier.NONE: (0, 0, 0, 0), Tier.VRAM: (_HIT, _HIT, 0, 0)}
_COUNTED: dict[Tier | None, Counters] = {
    Tier.NONE: Counters(TOKENS, 0, TOKENS, 0),
    Tier.VRAM: Counters(TOKENS, _HIT, TOKENS - _HIT, 0),
}
_LOADED, _LOAD_COUNTED = (0, _HIT, _HIT, _HIT), Counters(TOKENS, 0, TOKENS, _HIT)


def evidence(step: Step, with_log: bool = True) -> Evidence:
    """What a step shows when all is well, with LMCache inside the engine."""
    log = None
    if with_log:
        computed, hit, load, retrieved = _LOGGED.get(step.tier, _LOADED)
        store_s = 0.01 if step is Step.COLD else 0.0
        log = RequestLog("Reqid: …", TOKENS, computed, hit, load, retrieved, 0.014, 0, store_s)
    return Evidence(log, None, None, _COUNTED.get(step.tier, _LOAD_COUNTED), (7, 8, 9))


def mp_evidence(step: Step) -> Evidence:
    """The same with LMCache's server. A GPU hit is looked up too, and lies in RAM."""
    l1, l2 = (0, 0) if step.tier is Tier.NONE else (0, 5) if step.tier is Tier.SSD else (5, 0)
    moved = _HIT if step.is_reuse else 0
    store_s = 0.01 if step is Step.COLD else 0.0
    log = ServerLog("Prefetch …", l1 + l2, l1, l2, 0.02, moved, 0.014, 0, store_s)
    counters = ServerCounters(_HIT, 256 * l1, 256 * l2)
    return replace(evidence(step, with_log=False), server_log=log, server_counters=counters)


def sample(arm: Arm, step: Step, ttft_s: float, repeat: int = 1) -> Sample:
    """A sample that is what its name says."""
    proof = mp_evidence(step) if arm is Arm.LMCACHE else evidence(step, with_log=False)
    return Sample(arm, step, "seeded", repeat, TOKENS, ttft_s, 0.015, proof)


def result() -> Result:
    """A valid run of three repeats on both arms."""
    samples = tuple(
        sample(arm, step, ttft_s * (1 + 0.1 * repeat), repeat)
        for repeat in (0, 1, 2)
        for arm, step, ttft_s in (
            (Arm.LMCACHE, Step.COLD, 0.9),
            (Arm.LMCACHE, Step.GPU_HIT, 0.05),
            (Arm.LMCACHE, Step.CPU_HIT, 0.06),
            (Arm.LMCACHE, Step.SSD_REUSE, 0.08),
            (Arm.CONTROL, Step.COLD, 0.85),
            (Arm.CONTROL, Step.GPU_HIT, 0.05),
            (Arm.CONTROL, Step.EVICTED_RECOMPUTE, 0.85),
        )
    )
    return Result(
        schema=SCHEMA,
        valid=True,
        problems=(),
        created="2026-11-29T12:00:00+00:00",
        mode=Mode.CPU,
        lmcache_mode=LMCacheMode.MP,
        versions=Versions("0.32.0", "0.5.6", "2.13.0", "3.11.7", "0.1.0"),
        machine=Host("a CPU", 2, 8 * 1024**3, "", "Linux", "a drive", "ext4"),
        model=Model("tiny", "fp32", float(KV_BYTES)),
        settings=Settings(2688, 128, 256, ("seeded",), (TOKENS,), 1345, 3, 32, 0, 1, True, 0.5),
        processes=(),
        samples=samples,
        summaries=(summarize(samples, "seeded"),),
    )


def with_sample(index: int, **changes: object) -> Result:
    """The valid result with one sample changed and nothing else."""
    good = result()
    samples = list(good.samples)
    samples[index] = replace(samples[index], **changes)  # type: ignore[arg-type]
    return replace(good, samples=tuple(samples))
