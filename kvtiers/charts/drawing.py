"""What all charts share: the look, the axes, the legend, and the way from matplotlib to an SVG element."""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008), the ones that stand out on white and on near-black alike.
BLUE, ORANGE, GREEN, VERMILION, PURPLE = COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7")
INK = "#010203"  # stands for the page's text colour until the SVG is written
# A phone of 360 px leaves 312 to 328 px beside the margins: there a point is a pixel or a little more.
WIDTH_IN = 4.3
_ROW_IN, _BELOW_IN, _FONT_PT = 0.26, 0.6, 12
LINE_IN = 0.22  # of text inside a plot
_LARGEST = 1.4  # times that width on a wide page
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": _FONT_PT,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": _FONT_PT,
    "ytick.labelsize": _FONT_PT,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "lines.linewidth": 2,
}
# What an SVG file needs and an SVG inside a page must not bring along.
_FOR_A_PAGE = (
    (r'<defs>.*?</defs>| (id|clip-path)="[^"]*"| transform="rotate\(-0 [^"]*"', ""),  # ids would repeat
    (r"font-family: [^;]*; |font: ", ""),  # the page's fonts
    (INK, "currentColor"),
)

Look = tuple[str, Literal["-", "--", ":", "-."]]  # colour and dash
Format = Callable[[float], str]
Arguments = ParamSpec("Arguments")


class Chart(str):
    """An SVG element, which marimo shows as it is."""

    def _display_(self) -> object:
        import marimo as mo  # noqa: PLC0415

        return mo.Html(str(self))  # marimo's encoder in the browser takes no kind of str but str itself


def in_course_style(draw: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """Draw with the course's style, and leave matplotlib's own as it was."""

    @wraps(draw)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Chart:
        import matplotlib as mpl  # noqa: PLC0415  importing kvtiers must stay light: matplotlib takes a second

        with mpl.rc_context(_STYLE):
            return draw(*args, **kwargs)

    return styled


@dataclass(frozen=True)
class Axis:
    """An axis: what it says, how it writes its numbers, whether it is logarithmic. ``step_base``: even steps are round
    in this base, 1024 for bytes; none is smaller than ``least_step``, 1 for what has no parts."""

    label: str
    format: Format = lambda value: f"{value:,.10g}"
    log: bool = False
    log_base: float = 10
    step_base: float = 10
    least_step: float = 0


def new_axes(legend_rows: int, plot_in: float, left_in: float, title_in: float = 0.1) -> tuple["Figure", "Axes"]:
    """A figure with one pair of axes, sized so that ``legend_rows`` fit over the plot."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    height_in = legend_rows * _ROW_IN + title_in + plot_in + _BELOW_IN
    figure = Figure(figsize=(WIDTH_IN, height_in), facecolor="none")
    axes = figure.add_axes(
        (left_in / WIDTH_IN, _BELOW_IN / height_in, (WIDTH_IN - left_in - 0.25) / WIDTH_IN, plot_in / height_in),
        facecolor="none",
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes


def scale_x(axes: "Axes", axis: Axis, low: float, high: float) -> None:
    """Set the horizontal axis up."""
    if axis.log:
        axes.set_xscale("log", base=axis.log_base)
    axes.set_xlim(low, high)
    axes.set_xticks(*ticks(axis, low, high))
    axes.minorticks_off()
    for value, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        if value in (low, high):  # the margin is too narrow for half a number
            label.set_horizontalalignment("left" if value == low else "right")
    axes.xaxis.grid(visible=True)
    axes.set_xlabel(axis.label)


def ticks(axis: Axis, low: float, high: float) -> tuple[list[float], list[str]]:
    """Where an axis has its numbers, and what they say."""
    values = _log_ticks(low, high, axis.log_base) if axis.log else _even_ticks(high, axis.step_base, axis.least_step)
    return values, [axis.format(value) for value in values]


def _even_ticks(high: float, base: float, least: float) -> list[float]:
    """About five round steps from 0 to ``high``, none smaller than ``least``."""
    unit = base ** math.floor(math.log(high, base)) if base != 10 else 1.0
    rough = high / unit / 5
    power = 10 ** math.floor(math.log10(rough))
    step = max(least, unit * next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough))
    return [step * index for index in range(int(high / step) + 1)]


def _log_ticks(low: float, high: float, base: float) -> list[float]:
    """Powers of ``base``, thinned out to five at most."""
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    stride = max(1, math.ceil((last - first) / 4))
    return [base**power for power in range(first, last + 1, stride)]


def legend(figure: "Figure", entries: Sequence[tuple[str, Look, float]]) -> None:
    """One row for each label, look and width above the plot; rows need no guess of how wide a text is in the page's
    font."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    height_in = figure.get_figheight()
    for row, (label, (colour, dash), linewidth) in enumerate(entries):
        y = 1 - (row + 0.6) * _ROW_IN / height_in
        sample = Line2D([0.02, 0.1], [y, y], color=colour, linestyle=dash, linewidth=linewidth, solid_capstyle="butt")
        figure.add_artist(sample)
        figure.text(0.12, y, label, va="center_baseline")


def text_in(text: str) -> float:
    """Roughly how wide a text is, in inches: Chinese characters are one em, others about 0.55."""
    return sum(1.0 if ord(character) > 0x2E80 else 0.55 for character in text) * _FONT_PT / 72


def svg(figure: "Figure", alt: str) -> Chart:
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
    style = f"width: 100%; max-width: {width * _LARGEST:.0f}px; height: auto"
    return Chart(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(alt)}" '
        f'viewBox="0 0 {width} {height}" style="{style}"><g>{drawing}'
    )
