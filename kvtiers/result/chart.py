"""What was measured, drawn: the steps of one run, and the reference runs over the length of their document."""

from kvtiers import charts
from kvtiers.result.compare import evidence_text, ttft_text
from kvtiers.result.reference import ReferenceRun, reference_run
from kvtiers.result.schema import Result
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_count, format_seconds
from kvtiers.words import text


def is_reference(result: Result) -> bool:
    """Is this the committed run itself, and not one of the reader's own?"""
    return {(row.arm, row.step): row.ttft for row in result.summary.steps} == reference_run().ttft


def steps_chart(result: Result, language: str) -> charts.Chart:
    """A bar a step: median, range and evidence; the reference run's medians beside another run of the same length."""
    reference = reference_run()
    comparable = not is_reference(result) and result.settings.document_tokens == (reference.tokens,)
    others = reference.ttft if comparable else {}
    bars, told = [], []
    for summary in result.summaries:
        for row in summary.steps:
            step, arm = (text(key, language, {}) for key in (f"step.{row.step}", f"arm.{row.arm}"))
            other = others.get((row.arm, row.step))
            bar = charts.SpreadBar(
                f"{step} ({summary.document})" if len(result.summaries) > 1 else step,
                group=list(Arm).index(row.arm),
                median=row.ttft.median_s,
                low=row.ttft.min_s,
                high=row.ttft.max_s,
                value=ttft_text(row),
                note=evidence_text(result.samples, summary.document, row, language),
                reference=other.median_s if other else None,
            )
            bars.append(bar)
            told.append(f"{text('report.row', language, {'step': bar.label, 'arm': arm})} {bar.value}")
    return charts.spread_bars(
        bars,
        [text(f"arm.{arm}", language, {}) for arm in Arm],
        charts.Axis(text("chart.spread", language, {}), format_seconds),
        text("chart.steps", language, {"steps": " · ".join(told)}),
        text("chart.reference", language, {"date": reference.created}) if comparable else "",
    )


def parts_chart(result: Result, language: str) -> charts.Chart:
    """Where the time of each reuse went. Where a copy is logged as it is queued, its time is not told from the rest."""
    queued = "_queued" if result.copies_queued else ""
    names = [
        text(f"chart.part.{part}", language, {})
        for part in ("prefetch", f"retrieve{queued}", "prefill", f"rest{queued}")
    ]
    bars = {
        text(f"step.{parts.step}", language, {}): [parts.prefetch_s, parts.retrieve_s, parts.prefill_s, parts.rest_s]
        for parts in result.summary.reuse_parts
    }
    told = " · ".join(
        " / ".join([step, *(f"{name} {format_seconds(part_s)}" for name, part_s in zip(names, parts, strict=True))])
        for step, parts in bars.items()
    )
    return charts.stacked_bars(bars, names, charts.Axis("TTFT", format_seconds), told)


def lengths_chart(runs: tuple[ReferenceRun, ...], language: str) -> charts.Chart:
    """Cold, RAM hit and SSD reuse over the length of the document; between the lengths nothing was measured."""
    medians = {
        text(f"step.{step}", language, {}): [run.ttft[Arm.LMCACHE, step].median_s for run in runs]
        for step in (Step.COLD, Step.CPU_HIT, Step.SSD_REUSE)
    }
    told = " · ".join(f"{name} {' / '.join(map(format_seconds, times_s))}" for name, times_s in medians.items())
    return charts.lines(
        [run.tokens for run in runs],
        medians,
        charts.Axis(text("chart.length", language, {}), format_count),
        charts.Axis(text("chart.median", language, {}), format_seconds, log=True),
        text("chart.lengths", language, {"steps": told, "lengths": " / ".join(f"{run.tokens:,}" for run in runs)}),
    )


def lengths_text(runs: tuple[ReferenceRun, ...], language: str) -> str:
    """When and on what they were measured, and how to read the chart."""
    run = runs[0]
    return text("chart.measured", language, {"date": run.created, "vllm": run.vllm, "lmcache": run.lmcache})
