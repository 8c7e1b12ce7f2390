"""Charts of bars: label and value stand above each bar, where no line crosses them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING

from kvtiers.charts.drawing import (
    BLUE,
    COLOURS,
    GREEN,
    INK,
    LINE_IN,
    ORANGE,
    PURPLE,
    VERMILION,
    WIDTH_IN,
    Axis,
    Chart,
    Look,
    in_course_style,
    legend,
    new_axes,
    scale_x,
    svg,
    text_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LIMIT_LOOKS: tuple[Look, ...] = ((GREEN, "-"), (PURPLE, ":"))
_SIDE_IN, _BAR_IN, _BETWEEN_IN = 0.15, 0.18, 0.1
_BAR, _LINE = 8.0, 2.5  # widths of samples in the legend


@dataclass(frozen=True)
class SpreadBar:
    """A median, its smallest and largest, and what they say. ``group``: index of its colour; ``note`` stands below the
    label; ``reference``: what the median is compared with."""

    label: str
    group: int
    median: float
    low: float
    high: float
    value: str
    note: str = ""
    reference: float | None = None


@dataclass(frozen=True)
class _Rows:
    """Axes with a row for each bar: its middle is at ``y``, it is ``height`` high."""

    figure: "Figure"
    axes: "Axes"
    y: Sequence[float]
    height: float


@in_course_style
def stacked_bars(
    rows: Mapping[str, Sequence[float]],
    parts: Sequence[str],
    axis: Axis,
    alt: str,
    says: Sequence[str] | None = None,
) -> Chart:
    """A horizontal bar per row, cut into ``parts`` from 0; above it what it ``says``, its total if nothing else."""
    totals = [sum(values) for values in rows.values()]
    drawn = _rows(list(rows), says or [axis.format(total) for total in totals], len(parts))
    legend(drawn.figure, [(part, (colour, "-"), _BAR) for part, colour in zip(parts, COLOURS, strict=False)])
    starts = [0.0] * len(rows)
    for part, colour in zip(range(len(parts)), COLOURS, strict=False):
        widths = [values[part] for values in rows.values()]
        drawn.axes.barh(drawn.y, widths, left=starts, color=colour, height=drawn.height)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    scale_x(drawn.axes, axis, 0, max(totals, default=0) or 1)
    return svg(drawn.figure, alt)


@in_course_style
def spread_bars(bars: Sequence[SpreadBar], groups: Sequence[str], axis: Axis, alt: str, reference: str = "") -> Chart:
    """A bar per median, from 0, with its range as a line; ``reference`` names the marks to compare with."""
    drawn = _rows([bar.label for bar in bars], [bar.value for bar in bars], len(groups) + bool(reference), bars)
    marks: list[tuple[str, Look, float]] = [(reference, (VERMILION, "-"), _LINE)] if reference else []
    legend(drawn.figure, [*((group, (COLOURS[n], "-"), _BAR) for n, group in enumerate(groups)), *marks])
    colours = [COLOURS[bar.group] for bar in bars]
    drawn.axes.barh(drawn.y, [bar.median for bar in bars], color=colours, height=drawn.height)
    spreads = [((bar.low, y), (bar.high, y)) for bar, y in zip(bars, drawn.y, strict=True)]
    _strokes(drawn.axes, [*spreads, *_across(drawn, [(bar.low, bar.high) for bar in bars], 0.4)], (INK, "-"), 1.2)
    references = [() if bar.reference is None else (bar.reference,) for bar in bars]
    _strokes(drawn.axes, _across(drawn, references), (VERMILION, "-"), _LINE)
    scale_x(drawn.axes, axis, 0, max(max(bar.high, bar.reference or 0) for bar in bars) or 1)
    return svg(drawn.figure, alt)


@in_course_style
def log_bars(
    values: Mapping[str, float],
    axis: Axis,
    span: tuple[float, float],
    alt: str,
    limits: Mapping[str, float] | None = None,
    *,
    beyond: Sequence[str] = (),
) -> Chart:
    """A horizontal bar per value on a logarithmic axis, with a labelled line at each limit.

    The axis covers ``span`` whatever the values are, so that a bar moves when its value does. A bar beyond no limit is
    blue, beyond one orange, beyond both vermilion; ``beyond`` says what that means.
    """
    low, high = span
    limits = limits or {}
    looks: tuple[Look, ...] = ((BLUE, "-"), (ORANGE, "-"), (VERMILION, "-"))
    drawn = _rows(list(values), [axis.format(value) for value in values.values()], len(beyond) + len(limits))
    colours = [(label, look, _BAR) for label, look in zip(beyond, looks, strict=False)]
    legend(drawn.figure, [*colours, *((name, _LIMIT_LOOKS[n], _LINE) for n, name in enumerate(limits))])
    passed = [sum(value > limit for limit in limits.values()) for value in values.values()]
    # A log axis has no 0 to start from: bars begin at its left edge.
    widths = [min(max(value, low), high) - low for value in values.values()]
    drawn.axes.barh(drawn.y, widths, left=low, color=[looks[count][0] for count in passed], height=drawn.height)
    for limit, look in zip(limits.values(), _LIMIT_LOOKS, strict=False):
        _strokes(drawn.axes, _across(drawn, [(min(max(limit, low), high),)] * len(values)), look, _LINE)
    scale_x(drawn.axes, axis, low, high)
    return svg(drawn.figure, alt)


@in_course_style
def layer_rows(rows: Mapping[str, Sequence[int]], layers: int, axis: Axis, alt: str) -> Chart:
    """A row per kind of layer, with a mark at the index of each layer that is of it, out of ``layers``."""
    drawn = _rows(list(rows), [f"{len(marks):,}" for marks in rows.values()], legend_rows=0)
    for y, marks, colour in zip(drawn.y, rows.values(), cycle(COLOURS), strict=False):
        drawn.axes.barh([y] * len(marks), 0.8, left=marks, color=colour, height=drawn.height)
    scale_x(drawn.axes, replace(axis, least_step=1), 0, layers)
    return svg(drawn.figure, alt)


def _rows(labels: Sequence[str], values: Sequence[str], legend_rows: int, bars: Sequence[SpreadBar] = ()) -> _Rows:
    """Axes with the rows' texts. A value that does not fit beside its label goes below it, in all rows alike."""
    room_in = WIDTH_IN - 2 * _SIDE_IN
    folded = any(text_in(f"{label}  {value}") > room_in for label, value in zip(labels, values, strict=True))
    noted = any(bar.note for bar in bars)
    row_in = (1 + folded + noted) * LINE_IN + _BAR_IN + _BETWEEN_IN
    figure, axes = new_axes(legend_rows, plot_in=row_in * len(labels), left_in=_SIDE_IN)
    axes.set_yticks([])
    axes.set_ylim(len(labels), 0)
    across, line = axes.get_yaxis_transform(), LINE_IN / row_in
    for row, (label, value) in enumerate(zip(labels, values, strict=True)):
        axes.text(0, row + line / 2, label, transform=across, va="center_baseline")
        axes.text(1, row + (0.5 + folded) * line, value, transform=across, ha="right", va="center_baseline")
    for row, bar in enumerate(bars):
        axes.text(0, row + (1.5 + folded) * line, bar.note, transform=across, va="center_baseline", alpha=0.8)
    y = [row + 1 - (_BETWEEN_IN + _BAR_IN / 2) / row_in for row in range(len(labels))]
    return _Rows(figure, axes, y, _BAR_IN / row_in)


def _across(
    drawn: _Rows, places: Sequence[Iterable[float]], share: float = 0.5
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """An upright stroke at each row's places, as far up and down as ``share`` of the bar's height."""
    reach = share * drawn.height
    return [((x, y - reach), (x, y + reach)) for y, row in zip(drawn.y, places, strict=True) for x in row]


def _strokes(
    axes: "Axes", strokes: Sequence[tuple[tuple[float, float], tuple[float, float]]], look: Look, width: float
) -> None:
    """All of them as one line with gaps."""
    gap = (float("nan"), float("nan"))
    points = [point for stroke in strokes for point in (*stroke, gap)]
    if points:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=look[0], linestyle=look[1], linewidth=width, solid_capstyle="butt", clip_on=False)
