"""Runs side by side: a column each, a row a step."""

from collections.abc import Mapping

from kvtiers.ledger.tiers import Tier
from kvtiers.result.schema import Result, Spread, Summary
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_seconds
from kvtiers.words import text


def side_by_side(results: Mapping[str, Result], language: str) -> list[list[str]]:
    """TTFT of each step: median, smallest to largest, how many times faster than cold. The first row holds the heads.

    Args:
        results: by column; of each the first document counts.
        language: one of kvtiers.words.LANGUAGES.
    """
    rows = [[text("report.step", language, {}), *results]]
    summaries = [result.summary for result in results.values()]
    for arm in Arm:
        for step in Step:
            if any(summary.step(arm, step) for summary in summaries):
                name = ", ".join(text(key, language, {}) for key in (f"step.{step}", f"arm.{arm}"))
                rows.append([name, *(_cell(summary, arm, step) for summary in summaries)])
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
    shown = f"{format_seconds(row.ttft.median_s)} ({spread_text(row.ttft)})"
    if cold is None or step.tier is Tier.NONE:
        return shown
    return f"{shown}, {cold.ttft.median_s / row.ttft.median_s:.1f}x"
