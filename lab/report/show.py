"""What a person sees: the table, what it says, the chart."""

from pathlib import Path

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from kvtiers.result.compare import evidence_text, spread_text
from kvtiers.result.schema import Mode, Result, StepSummary, Summary
from kvtiers.result.steps import Arm, Step
from kvtiers.units import format_bytes, format_seconds, format_times
from kvtiers.words import text
from lab.judge.answers import is_rounding
from lab.report.documents import parts_text

_LANGUAGE = "en"
_ANY_WIDTH = 10_000


def show(result: Result, console: Console) -> None:
    """Print the run: machine, table with evidence, what it says, problems."""
    console.print(_headline(result), soft_wrap=True)
    for summary in result.summaries:
        table = _table(result, summary)
        # A line that the terminal breaks is read; a figure that is cut is not.
        least = Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), table).minimum
        wide = console.options.update(width=max(console.width, least))
        console.print(Segments(console.render(table, wide)), crop=False, end="")
        for line in sentences(result, summary):
            console.print(line, soft_wrap=True)
    for parting in result.partings:
        if is_rounding(parting.gap_nats):
            row = _say("row", step=_name(f"step.{parting.step}"), arm=_name(f"arm.{parting.arm}"))
            values = {**vars(parting), "row": row, "position": parting.position + 1, "gap": parting.gap_nats}
            console.print(_say("rounding", **values), soft_wrap=True)
    if result.mode is Mode.URL and not any(sample.evidence.moved for sample in result.samples):
        console.print(_say("no_log"), soft_wrap=True)
    if not result.valid:
        console.print(f"\n[bold red]{_say('not_valid')}", soft_wrap=True)
        for problem in result.problems:
            console.print(f"  - {problem}", markup=False, soft_wrap=True)


def sentences(result: Result, summary: Summary) -> list[str]:
    """What the numbers of a document say, one sentence a line."""
    cold = summary.step(Arm.LMCACHE, Step.COLD)
    rows = [row for row in summary.steps if row.arm is Arm.LMCACHE and row.step is not Step.COLD]
    lines = [
        _say("faster", step=_name(f"step.{row.step}"), ratio=format_times(cold.ttft.median_s / row.ttft.median_s))
        for row in rows
        if cold
    ]
    if summary.evicted_recompute_over_ssd_reuse:
        lines.append(_say("worth", ratio=format_times(summary.evicted_recompute_over_ssd_reuse)))
    drive, memory = summary.step(Arm.LMCACHE, Step.SSD_REUSE), summary.step(Arm.LMCACHE, Step.PAGE_CACHE_REUSE)
    if drive and memory:
        lines.append(_say("page_cache", percent=100 * (drive.ttft.median_s / memory.ttft.median_s - 1)))
    lines += _price_of_storing(result, summary)
    tokens, queued = _tokens_of(result, summary), result.copies_queued
    lines += [parts_text(parts, _LANGUAGE, tokens, queued=queued) for parts in summary.reuse_parts]
    lines += [
        _say("faster_drive", step=_name(f"step.{parts.step}"), percent=100 * parts.drive_share / 2)
        for parts in summary.reuse_parts
        if parts.drive_share is not None
    ]
    return lines


def _price_of_storing(result: Result, summary: Summary) -> list[str]:
    cold, control = summary.step(Arm.LMCACHE, Step.COLD), summary.step(Arm.CONTROL, Step.COLD)
    if cold is None or not summary.store_s:
        return []
    price = {"cost": format_seconds(summary.store_s), "percent": 100 * summary.store_s / cold.ttft.median_s}
    if control is None:
        return [_say("price_queued" if result.copies_queued else "price", **price)]
    key = "price_in_noise" if cold.ttft.min_s <= control.ttft.max_s else "price_against_control"
    key += "_queued" if result.copies_queued else ""
    line = _say(key, **price, difference=100 * (cold.ttft.median_s / control.ttft.median_s - 1))
    return [line, *([_say("in_turn")] if result.settings.side_by_side is False else [])]


def save_chart(result: Result, path: Path) -> None:
    """Medians with min and max as a PNG, one bar a step, evidence written beside it."""
    from matplotlib.figure import Figure  # noqa: PLC0415  it takes a second to import and only this needs it

    rows = [(summary, row) for summary in result.summaries for row in summary.steps]
    figure = Figure(figsize=(8, 0.55 * len(rows) + 1.4), layout="constrained")
    axes = figure.subplots()
    medians = [row.ttft.median_s * 1000 for _, row in rows]
    below = [(row.ttft.median_s - row.ttft.min_s) * 1000 for _, row in rows]
    above = [(row.ttft.max_s - row.ttft.median_s) * 1000 for _, row in rows]
    colours = ["#0072B2" if row.arm is Arm.LMCACHE else "#E69F00" for _, row in rows]
    axes.barh(range(len(rows)), medians, xerr=[below, above], color=colours, capsize=3)
    several = len(result.summaries) > 1
    axes.set_yticks(range(len(rows)), [_label(row, summary.document if several else "") for summary, row in rows])
    for position, ((summary, row), median) in enumerate(zip(rows, medians, strict=True)):
        axes.annotate(
            f"  {median:,.0f} ms  ({evidence_text(result.samples, summary.document, row, _LANGUAGE)})",
            (row.ttft.max_s * 1000, position),
            va="center",
            fontsize=9,
        )
    axes.invert_yaxis()
    axes.set_xlim(0, max((row.ttft.max_s for _, row in rows), default=1) * 1000 * 1.55)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("TTFT, ms: median, min to max")
    longest, pool = max(result.settings.document_tokens), result.settings.pool_tokens
    axes.set_title(
        f"{result.model.name}, {longest:,} tokens, pool {pool:,} tokens" + ("" if result.valid else "  -  NOT VALID"),
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


def _table(result: Result, summary: Summary) -> Table:
    """Figures keep their width; only the evidence folds where a line is too short."""
    tokens = _tokens_of(result, summary)
    title = _say("table", document=summary.document, tokens=tokens, repeats=result.settings.repeats)
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(_say("step"), no_wrap=True)
    for name in ("median", "range", "per_token"):
        table.add_column(_say(name), justify="right", no_wrap=True)
    table.add_column(_say("evidence"), overflow="fold")
    for arm in Arm:
        rows = [row for row in summary.steps if row.arm is arm]
        if rows:
            table.add_row(f"[bold]{_name(f'arm.{arm}')}[/]")
        for row in rows:
            table.add_row(
                " " + _name(f"step.{row.step}"),
                format_seconds(row.ttft.median_s),
                spread_text(row.ttft),
                format_seconds(row.tpot.median_s),
                evidence_text(result.samples, summary.document, row, _LANGUAGE),
            )
    for column in table.columns[:-1]:
        cells = (column.header, *column.cells)
        column.min_width = max(Text.from_markup(str(cell)).cell_len for cell in cells)
    return table


def _tokens_of(result: Result, summary: Summary) -> int:
    return dict(zip(result.settings.documents, result.settings.document_tokens, strict=True))[summary.document]


def _label(row: StepSummary, document: str) -> str:
    return "\n".join(filter(None, (_name(f"step.{row.step}"), _name(f"arm.{row.arm}"), document)))


def _say(key: str, **values: object) -> str:
    return text(f"report.{key}", _LANGUAGE, values)


def _name(key: str) -> str:
    return text(key, _LANGUAGE, {})
