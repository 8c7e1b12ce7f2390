"""Runs side by side: a column each, a row a step."""

from collections.abc import Sequence

from kvtiers.ledger.tiers import Tier
from kvtiers.result.schema import Result, Spread, Summary
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_seconds
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


def spread_text(spread: Spread) -> str:
    """Smallest and largest, in one unit."""
    if spread.max_s >= 10:
        return f"{spread.min_s:.1f}–{spread.max_s:.1f} s"
    return f"{spread.min_s * 1000:.0f}–{spread.max_s * 1000:.0f} ms"


def _cell(summary: Summary, arm: Arm, step: Step) -> str:
    row, cold = summary.step(arm, step), summary.step(arm, Step.COLD)
    if row is None:
        return "–"
    spread = f" ({spread_text(row.ttft)})" if row.samples > 1 else ""
    shown = format_seconds(row.ttft.median_s) + spread
    if cold is None or step.tier is Tier.NONE:
        return shown
    return f"{shown}, {cold.ttft.median_s / row.ttft.median_s:.1f}x"
