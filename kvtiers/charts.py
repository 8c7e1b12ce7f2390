"""The course's charts, drawn by matplotlib as SVG that becomes part of the page.

Text stays text, in the page's fonts (DejaVu, matplotlib's own, has no Chinese) and in the page's text colour, so that
one drawing serves both languages and both light and dark pages. Colours are Okabe and Ito's, which colour-blind
readers can tell apart; dashes and labels say the same again. Every label comes from the caller.

Each function returns a ``Chart``: ``<svg role="img" aria-label=…>…</svg>``. They run on every move of a slider, also in
the browser, so they draw few artists: no markers, no minor ticks, no mathtext, no layout engine.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), the ones that stand out on white and on near-black alike.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7")
Look = tuple[str, Literal["-", "--", ":", "-."]]  # colour and dash
_LINE_LOOKS: tuple[Look, ...] = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (VERMILION, "-."))
_LIMIT_LOOKS: tuple[Look, ...] = ((GREEN, "--"), (PURPLE, ":"))
_INK = "#010203"  # stands for the page's text colour until the SVG is written
_WIDTH_IN, _ROW_IN, _FONT_PT = 6.0, 0.3, 12
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": _FONT_PT,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": _INK,
    "grid.alpha": 0.15,
    "lines.linewidth": 2,
}
# What an SVG file needs and an SVG inside a page must not bring along.
_FOR_A_PAGE = (
    (r'<defs>.*?</defs>| (id|clip-path)="[^"]*"| transform="rotate\(-0 [^"]*"', ""),  # ids would repeat
    (r"font-family: [^;]*; |font: ", ""),  # the page's fonts
    (_INK, "currentColor"),
)

Format = Callable[[float], str]
Arguments = ParamSpec("Arguments")


class Chart(str):
    """An SVG element, which marimo shows as it is."""

    def _display_(self) -> object:
        import marimo as mo  # noqa: PLC0415

        return mo.Html(str(self))  # marimo's encoder in the browser takes no kind of str but str itself


def _in_course_style(draw: Callable[Arguments, "Chart"]) -> Callable[Arguments, "Chart"]:
    """Draw with the course's style, and leave matplotlib's own as it was."""

    @wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Chart:
        import matplotlib as mpl  # noqa: PLC0415  importing kvtiers must stay light: matplotlib takes a second

        with mpl.rc_context(_STYLE):
            return draw(*args, **kwargs)

    return styled


@dataclass(frozen=True)
class Axis:
    """An axis: what it says, how it writes its numbers, and whether it is logarithmic."""

    label: str
    format: Format = lambda value: f"{value:,.10g}"
    log: bool = False
    log_base: float = 10


@_in_course_style
def stacked_bars(rows: Mapping[str, Sequence[float]], parts: Sequence[str], axis: Axis, alt: str) -> Chart:
    """A horizontal bar per row, cut into ``parts`` from 0; the row's total stands at its end."""
    end = max((sum(values) for values in rows.values()), default=0) or 1
    figure, axes = _bar_axes(list(rows), len(parts))
    _legend(figure, parts, [(colour, "-") for colour in COLOURS], linewidth=8)
    starts = [0.0] * len(rows)
    for part, colour in zip(range(len(parts)), COLOURS, strict=False):
        widths = [values[part] for values in rows.values()]
        axes.barh(range(len(rows)), widths, left=starts, color=colour, height=0.6)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    _bar_ends(axes, starts, [axis.format(total) for total in starts])
    _scale_x(axes, axis, 0, end * 1.2)
    return _svg(figure, alt)


@_in_course_style
def log_bars(
    values: Mapping[str, float],
    axis: Axis,
    span: tuple[float, float],
    alt: str,
    limits: Mapping[str, float] | None = None,
) -> Chart:
    """A horizontal bar per value on a logarithmic axis, with a labelled line at each limit.

    The axis covers ``span`` whatever the values are, so that a bar moves when its value does. A bar beyond no limit is
    blue, beyond one orange, beyond both vermilion.
    """
    low, high = span
    limits = limits or {}
    figure, axes = _bar_axes(list(values), len(limits))
    _legend(figure, list(limits), _LIMIT_LOOKS)
    passed = [sum(value > limit for limit in limits.values()) for value in values.values()]
    colours = [(BLUE, ORANGE, VERMILION)[count] for count in passed]
    # A log axis has no 0 to start from: bars begin at its left edge.
    ends = [min(max(value, low), high) for value in values.values()]
    axes.barh(range(len(values)), [end - low for end in ends], left=low, color=colours, height=0.6)
    for limit, (colour, dash) in zip(limits.values(), _LIMIT_LOOKS, strict=False):
        axes.axvline(min(max(limit, low), high), color=colour, linestyle=dash)
    _bar_ends(axes, ends, [axis.format(value) for value in values.values()])
    _scale_x(axes, axis, low, high * (high / low) ** 0.22)
    return _svg(figure, alt)


@_in_course_style
def layer_rows(rows: Mapping[str, Sequence[int]], layers: int, axis: Axis, alt: str) -> Chart:
    """A row per kind of layer, with a mark at the index of each layer that is of it, out of ``layers``."""
    figure, axes = _bar_axes(list(rows), rows_above=0)
    for row, (marks, colour) in enumerate(zip(rows.values(), cycle(COLOURS))):
        axes.barh([row] * len(marks), 0.8, left=marks, color=colour, height=0.6)
    _scale_x(axes, axis, 0, layers)
    return _svg(figure, alt)


@_in_course_style
def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    x_axis: Axis,
    y_axis: Axis,
    alt: str,
    *,
    here: tuple[float, float, str] | None = None,
    marks: Mapping[str, Sequence[float]] | None = None,
) -> Chart:
    """A line per series over ``x``; ``here`` is a labelled point, ``marks`` are labelled vertical lines.

    Series and marks have four looks between them.
    """
    marks = marks or {}
    figure, axes = _axes(rows_above=len(series) + len(marks), plot_in=2.6, left_in=0.85, title_in=0.35)
    _legend(figure, [*series, *marks], _LINE_LOOKS)
    looks = iter(_LINE_LOOKS)
    for values, (colour, dash) in zip(series.values(), looks, strict=False):
        axes.plot(x, values, color=colour, linestyle=dash, clip_on=False)
    for positions, (colour, dash) in zip(marks.values(), looks, strict=False):
        for position in positions:
            axes.axvline(position, color=colour, linestyle=dash)
    heights = [value for values in series.values() for value in values]
    if here:
        heights.append(here[1])
        middle = math.sqrt(min(x) * max(x)) if x_axis.log else (min(x) + max(x)) / 2
        _point(axes, *here, right_half=here[0] > middle)
    low, high = (min(heights), max(heights)) if y_axis.log else (0, max(heights) * 1.05 or 1)
    _scale_x(axes, x_axis, min(x), max(x))
    axes.yaxis.grid(visible=True)
    if y_axis.log:
        axes.set_yscale("log", base=y_axis.log_base)
    axes.set_ylim(low, high)
    axes.set_yticks(*_ticks(y_axis, low, high))
    axes.minorticks_off()
    figure.text(0.02, axes.get_position().y1 + 0.02, y_axis.label, va="bottom")
    return _svg(figure, alt)


def _bar_axes(labels: Sequence[str], rows_above: int) -> tuple["Figure", "Axes"]:
    figure, axes = _axes(rows_above, plot_in=0.42 * len(labels), left_in=_text_in(max(labels, key=_text_in)) + 0.2)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    return figure, axes


def _axes(rows_above: int, plot_in: float, left_in: float, title_in: float = 0.1) -> tuple["Figure", "Axes"]:
    """A figure with one pair of axes, sized so that ``rows_above`` rows of legend fit over the plot."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    above_in, below_in = rows_above * _ROW_IN + title_in, 0.7
    height_in = above_in + plot_in + below_in
    figure = Figure(figsize=(_WIDTH_IN, height_in), facecolor="none")
    axes = figure.add_axes(
        (left_in / _WIDTH_IN, below_in / height_in, (_WIDTH_IN - left_in - 0.3) / _WIDTH_IN, plot_in / height_in),
        facecolor="none",
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes


def _scale_x(axes: "Axes", axis: Axis, low: float, high: float) -> None:
    if axis.log:
        axes.set_xscale("log", base=axis.log_base)
    axes.set_xlim(low, high)
    axes.set_xticks(*_ticks(axis, low, high))
    axes.minorticks_off()
    axes.xaxis.grid(visible=True)
    axes.set_xlabel(axis.label)


def _ticks(axis: Axis, low: float, high: float) -> tuple[list[float], list[str]]:
    values = _log_ticks(low, high, axis.log_base) if axis.log else _even_ticks(high)
    return values, [axis.format(value) for value in values]


def _even_ticks(high: float) -> list[float]:
    """About five round steps from 0 to ``high``."""
    rough = high / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * index for index in range(int(high / step) + 1)]


def _log_ticks(low: float, high: float, base: float) -> list[float]:
    """Powers of ``base``, thinned out to five at most."""
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    stride = max(1, math.ceil((last - first) / 4))
    return [base**power for power in range(first, last + 1, stride)]


def _legend(figure: "Figure", labels: Sequence[str], looks: Sequence[Look], linewidth: float = 2) -> None:
    """One row a label above the plot; rows need no guess of how wide a text is in the page's font."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    height_in = figure.get_figheight()
    for row, (label, (colour, dash)) in enumerate(zip(labels, looks, strict=False)):
        y = 1 - (row + 0.6) * _ROW_IN / height_in
        sample = Line2D([0.02, 0.09], [y, y], color=colour, linestyle=dash, linewidth=linewidth)
        figure.add_artist(sample)
        figure.text(0.11, y, label, va="center_baseline")


def _bar_ends(axes: "Axes", ends: Sequence[float], texts: Sequence[str]) -> None:
    for row, (end, text) in enumerate(zip(ends, texts, strict=True)):
        axes.text(end, row, f"\N{NO-BREAK SPACE}{text}", va="center_baseline")


def _point(axes: "Axes", x: float, y: float, label: str, *, right_half: bool) -> None:
    axes.text(x, y, "●", color=VERMILION, ha="center", va="center_baseline")
    axes.text(x, y, f"\N{NO-BREAK SPACE}{label}\N{NO-BREAK SPACE}", ha="right" if right_half else "left", va="bottom")


def _text_in(text: str) -> float:
    """Roughly how wide a text is, in inches: Chinese characters are one em, others about 0.6."""
    return sum(1.0 if ord(character) > 0x2E80 else 0.6 for character in text) * _FONT_PT / 72


def _svg(figure: "Figure", alt: str) -> Chart:
    """The figure as an SVG element that a page can hold, without ids, which a second chart would repeat."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the page's fonts draw it
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=no_metadata)
    width, height = (round(inches * 72) for inches in figure.get_size_inches())
    drawing = buffer.getvalue().partition('<g id="figure_1">')[2]
    for what, instead in _FOR_A_PAGE:
        drawing = re.sub(what, instead, drawing, flags=re.DOTALL)
    return Chart(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(alt)}" '
        f'viewBox="0 0 {width} {height}" style="width: 100%; max-width: {width * 1.6:.0f}px; height: auto"><g>{drawing}'
    )
