"""Runs side by side: a column each, a row a step."""

from collections.abc import Sequence

from kvtiers.ledger.tiers import Tier
from kvtiers.result.evidence import Evidence
from kvtiers.result.schema import Result, Sample, Spread, StepSummary, Summary
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_seconds, format_times
from kvtiers.words import text

# The committed runs of both wirings, each at two lengths.
WIRINGS = ("cpu-tiny", "cpu-tiny-in-process", "cpu-tiny-long", "cpu-tiny-long-in-process")


def side_by_side(results: Sequence[Result], language: str) -> list[list[str]]:
    """TTFT of each step: median, smallest to largest, how many times faster than cold. The first row holds the heads.

    Args:
        results: a column each; the first document counts.
        language: one of kvtiers.words.LANGUAGES.
    """
    heads = [
        text(f"report.column.{result.lmcache_mode}", language, {"tokens": result.settings.document_tokens[0]})
        for result in results
    ]
    rows = [[text("report.step", language, {}), *heads]]
    summaries = [result.summary for result in results]
    for arm in Arm:
        for step in Step:
            if any(summary.step(arm, step) for summary in summaries):
                names = {"step": text(f"step.{step}", language, {}), "arm": text(f"arm.{arm}", language, {})}
                rows.append(
                    [text("report.row", language, names), *(_cell(summary, arm, step) for summary in summaries)]
                )
    return rows


def ttft_text(row: StepSummary) -> str:
    """The median, and of several samples the smallest and largest behind it."""
    return format_seconds(row.ttft.median_s) + (f" ({spread_text(row.ttft)})" if row.samples > 1 else "")


def spread_text(spread: Spread) -> str:
    """Smallest and largest, in the median's unit."""
    if spread.median_s < 1:
        decimals = 1 if spread.max_s < 0.1 else 0
        return f"{spread.min_s * 1000:,.{decimals}f}–{spread.max_s * 1000:,.{decimals}f} ms"
    decimals = 2 if spread.max_s < 10 else 1
    return f"{spread.min_s:.{decimals}f}–{spread.max_s:.{decimals}f} s"


def evidence_text(samples: Sequence[Sample], document: str, row: StepSummary, language: str) -> str:
    """What proves a step, in tokens: once where its samples agree, as a range where they do not."""
    proofs = [s.evidence for s in samples if (s.arm, s.step, s.document) == (row.arm, row.step, document)]
    ends = {name: sorted({min(each), max(each)}) for name, each in _tokens(proofs).items()}
    ranges = {name: "–".join(f"{tokens:,}" for tokens in each) for name, each in ends.items()}
    return " ".join(f"{text(f'evidence.{name}', language, {})} {shown}" for name, shown in ranges.items())


def _tokens(proofs: Sequence[Evidence]) -> dict[str, list[int]]:
    if all(proof.log for proof in proofs):
        logs = [proof.log for proof in proofs if proof.log]
        return {
            "C": [log.computed_tokens for log in logs],
            "H": [log.hit_tokens for log in logs],
            "L": [log.need_to_load_tokens for log in logs],
        }
    own = {"own": [proof.counters.own_hits for proof in proofs]}
    external = [proof.counters.external_hits for proof in proofs]
    if not all(proof.server_counters for proof in proofs):
        return own | {"external": external}
    counters = [proof.server_counters for proof in proofs if proof.server_counters]
    tiers = {"L1": [each.l1_hits for each in counters], "L2": [each.l2_hits for each in counters]}
    return own | tiers | {"loaded": external}


def _cell(summary: Summary, arm: Arm, step: Step) -> str:
    row, cold = summary.step(arm, step), summary.step(arm, Step.COLD)
    if row is None:
        return "–"
    if cold is None or step.tier is Tier.NONE:
        return ttft_text(row)
    return f"{ttft_text(row)}, {format_times(cold.ttft.median_s / row.ttft.median_s)}"
