"""What a person sees: the table, the verdict, the chart."""

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from kvtiers.result.schema import Mode, Result, Sample, StepSummary, Summary
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_bytes, format_seconds
from kvtiers.words import text

_LANGUAGE = "en"


def show(result: Result, console: Console) -> None:
    """Print the run: machine, table with evidence, verdict, problems."""
    console.print(_headline(result), soft_wrap=True)
    console.print(_table(result))
    for line in verdict(result):
        console.print(line, soft_wrap=True)
    if not result.valid:
        console.print("\n[bold red]NOT VALID[/]: this run proves nothing.", soft_wrap=True)
        for problem in result.problems:
            console.print(f"  - {problem}", markup=False, soft_wrap=True)


def verdict(result: Result) -> list[str]:
    """What the numbers say, one sentence a line."""
    summary, lines = result.summary, []
    if summary.cold_over_ssd_reuse:
        gain = f"Reuse from SSD is {summary.cold_over_ssd_reuse:.1f}x faster to the first token than cold"
        if summary.evicted_recompute_over_ssd_reuse:
            gain += f", and {summary.evicted_recompute_over_ssd_reuse:.1f}x faster than the same step without LMCache"
        lines.append(gain + ".")
    if summary.cold_over_gpu_hit:
        lines.append(f"A hit in the engine's own cache is {summary.cold_over_gpu_hit:.1f}x faster than cold.")
    drive, memory = summary.step(Arm.LMCACHE, Step.SSD_REUSE), summary.step(Arm.LMCACHE, Step.PAGE_CACHE_REUSE)
    if drive and memory:
        more = 100 * (drive.ttft.median_s / memory.ttft.median_s - 1)
        lines.append(f"Reuse from the drive takes {more:+.0f} % against the same answered by the page cache.")
    lines += _price_of_storing(summary)
    if summary.reuse_parts:
        parts = summary.reuse_parts
        lines.append(
            f"Of a typical reuse, LMCache's read and copy took {format_seconds(parts.retrieve_s)}; the other "
            f"{format_seconds(parts.rest_s)} went to the {parts.tail_tokens} tokens that no full chunk covers, and to "
            "scheduling."
        )
    if summary.ceiling:
        lines.append(
            f"The drive ({summary.ceiling.drive_gb_per_s:.2f} GB/s, {summary.ceiling.drive_source}) alone would allow "
            f"{summary.ceiling.speedup:.0f}x: effective-bandwidth discount "
            f"{summary.ceiling.effective_bandwidth_discount:.2f}."
        )
    if result.mode is Mode.URL and not any(sample.evidence.log for sample in result.samples):
        lines.append("Evidence is from /metrics alone: no log was given, so LMCache's own account is missing.")
    return lines


def _price_of_storing(summary: Summary) -> list[str]:
    cold, control = summary.step(Arm.LMCACHE, Step.COLD), summary.step(Arm.CONTROL, Step.COLD)
    if cold is None or not summary.store_s:
        return []
    share = 100 * summary.store_s / cold.ttft.median_s
    said = f"{format_seconds(summary.store_s)} ({share:.1f} % of cold) by LMCache's own account"
    if control is None:
        return [f"The price of storing, which every miss pays: {said}."]
    difference = 100 * (cold.ttft.median_s / control.ttft.median_s - 1)
    line = (
        f"The price of storing, which every miss pays: {said}; cold with LMCache against without: {difference:+.1f} %"
    )
    if cold.ttft.min_s <= control.ttft.max_s:
        line += ", which is within noise here"
    return [line + "."]


def save_chart(result: Result, path: Path) -> None:
    """Medians with min and max as a PNG, one bar a step, evidence written beside it."""
    from matplotlib.figure import Figure  # noqa: PLC0415  it takes a second to import and only this needs it

    rows = result.summary.steps
    figure = Figure(figsize=(8, 0.55 * len(rows) + 1.4), layout="constrained")
    axes = figure.subplots()
    medians = [row.ttft.median_s * 1000 for row in rows]
    below = [(row.ttft.median_s - row.ttft.min_s) * 1000 for row in rows]
    above = [(row.ttft.max_s - row.ttft.median_s) * 1000 for row in rows]
    colours = ["#0072B2" if row.arm is Arm.LMCACHE else "#E69F00" for row in rows]
    axes.barh([_label(row) for row in rows], medians, xerr=[below, above], color=colours, capsize=3)
    for position, (row, median) in enumerate(zip(rows, medians, strict=True)):
        axes.annotate(
            f"  {median:,.0f} ms  ({_evidence_words(result, row)})",
            (row.ttft.max_s * 1000, position),
            va="center",
            fontsize=9,
        )
    axes.invert_yaxis()
    axes.set_xlim(0, max((row.ttft.max_s for row in rows), default=1) * 1000 * 1.55)
    axes.set_xlabel("TTFT, ms: median, min to max")
    axes.set_title(
        f"{result.model.name}, {max(result.settings.document_tokens)} tokens, pool {result.settings.pool_tokens} tokens"
        + ("" if result.valid else "  -  NOT VALID"),
        loc="left",
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def _headline(result: Result) -> str:
    machine, model, versions = result.machine, result.model, result.versions
    where = machine.gpu or f"{machine.cpu}, {result.settings.threads} of {machine.cores} cores"
    what = f"{model.name}"
    if model.kv_bytes_per_token:
        what += f" ({format_bytes(model.kv_bytes_per_token)} of KV a token, {model.kv_dtype})"
    engine = f"vLLM {versions.vllm}, LMCache {versions.lmcache}" if versions.vllm else "a server started elsewhere"
    return f"[bold]{what}[/] on {where}; {machine.drive} ({machine.file_system}); {engine}"


def _table(result: Result) -> Table:
    table = Table(
        title=f"Time to first token, repeats: {result.settings.repeats}", title_justify="left", box=box.SIMPLE
    )
    table.add_column("step", no_wrap=True)
    for name in ("median", "min to max", "per token"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("evidence, tokens", no_wrap=True)
    for arm in Arm:
        rows = [row for row in result.summary.steps if row.arm is arm]
        if rows:
            table.add_row(f"[bold]{text(f'arm.{arm}', _LANGUAGE, {})}[/]")
        for row in rows:
            table.add_row(
                "  " + text(f"step.{row.step}", _LANGUAGE, {}),
                format_seconds(row.ttft.median_s),
                f"{row.ttft.min_s * 1000:.0f} to {row.ttft.max_s * 1000:.0f} ms",
                format_seconds(row.tpot.median_s),
                _evidence_words(result, row),
            )
    return table


def _label(row: StepSummary) -> str:
    return "\n".join(text(key, _LANGUAGE, {}) for key in (f"step.{row.step}", f"arm.{row.arm}"))


def _evidence_words(result: Result, row: StepSummary) -> str:
    """The evidence of the step's samples, once where they agree, as a range where they do not."""
    samples = [sample for sample in result.samples if (sample.arm, sample.step) == (row.arm, row.step)]
    return "  ".join(f"{name} {_range(values)}" for name, values in _tokens(samples).items())


def _tokens(samples: list[Sample]) -> dict[str, list[int]]:
    logs = [sample.evidence.log for sample in samples]
    if all(logs):
        return {
            "C": [log.computed_tokens for log in logs if log],
            "H": [log.hit_tokens for log in logs if log],
            "L": [log.need_to_load_tokens for log in logs if log],
        }
    return {
        "own": [sample.evidence.counters.own_hits for sample in samples],
        "external": [sample.evidence.counters.external_hits for sample in samples],
    }


def _range(values: list[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)}-{max(values)}"
