"""Which vLLM and LMCache versions go together, and how wired: what the lab measured, then what others published."""

from functools import cache

from kvtiers.result.pairs import ENGINE, PairRun, PairVerdict, measured_pairs
from kvtiers.result.steps import Step
from kvtiers.settings.version_pairs import LMCacheMode, Pair, reported_pairs
from kvtiers.units import format_seconds
from kvtiers.words import LANGUAGES, text


@cache
def known_pairs() -> tuple[Pair, ...]:
    """Every pair of which something is known; of the measured ones the newest first."""
    measured = [_pair(run) for run in measured_pairs() if run.verdict.is_final]
    return (*measured, *reported_pairs())


def known_pair(mode: LMCacheMode, vllm: str, lmcache: str, platform: str = "") -> Pair | None:
    """What is known of these versions, a failure before a success; None where nobody has said.

    An empty ``platform``, ``vllm`` or ``lmcache`` is one that was not seen: then it is what they may be.
    """
    held = [pair for pair in known_pairs() if pair.holds(mode, platform, vllm, lmcache)]
    return next((pair for pair in held if not pair.works), held[0] if held else None)


def measured_text(run: PairRun, language: str) -> str:
    """What came of it, in a phrase: the times where it works, the first cause where not."""
    names = [(step, run.ttft_s[step]) for step in Step if step in run.ttft_s]
    times = ", ".join(f"{text(f'step.{step}', language, {})} {format_seconds(seconds)}" for step, seconds in names)
    return text(f"pairs.what.{run.verdict}", language, {"times": times, "cause": run.cause})


def _pair(run: PairRun) -> Pair:
    return Pair(
        mode=run.mode,
        engine=ENGINE,
        platform="cpu",
        vllm_from=run.vllm,
        vllm_to=run.vllm,
        lmcache_from=run.lmcache,
        lmcache_to=run.lmcache,
        works=run.verdict is PairVerdict.WORKS,
        what={language: measured_text(run, language) for language in LANGUAGES},
        source={language: text("pairs.source", language, {}) for language in LANGUAGES},
        date=run.date,
        measured=True,
    )
