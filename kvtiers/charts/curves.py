"""Lines over a common axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtiers.charts.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
    Axis,
    Chart,
    Look,
    in_course_style,
    legend,
    new_axes,
    scale_x,
    svg,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS: tuple[Look, ...] = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (VERMILION, "-."))
_LEVEL: Look = (INK, ":")
_LEVEL_WIDTH = 1.5
_SHADE = 0.18
_ABOVE_THE_AXIS = 0.03  # of the height: a line at 0 must not hide behind the axis


@dataclass(frozen=True)
class Gap:
    """What lies between two series, shaded, with an upright line at ``x`` and a label that says what it is there."""

    upper: str
    lower: str
    x: float
    label: str


@in_course_style
def lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    x_axis: Axis,
    y_axis: Axis,
    alt: str,
    *,
    here: tuple[float, float, str] | None = None,
    marks: Mapping[str, Sequence[float]] | None = None,
    gap: Gap | None = None,
    level: tuple[float, str] | None = None,
) -> Chart:
    """A line per series over ``x``; a labelled point ``here``, vertical lines at ``marks``, a horizontal ``level``.

    Series and marks have four looks between them.
    """
    marks = marks or {}
    looks = dict(zip([*series, *marks], _LOOKS, strict=False))
    entries = [(label, look, 2.0) for label, look in looks.items()]
    if level:
        entries.append((level[1], _LEVEL, _LEVEL_WIDTH))
    if gap:
        entries.append((gap.label, (PURPLE, "-"), 8.0))
    figure, axes = new_axes(len(entries), plot_in=2.3, left_in=0.8, title_in=0.35)
    legend(figure, entries)
    if gap:
        _shade(axes, x, series, gap)
    for name, values in series.items():
        axes.plot(x, values, color=looks[name][0], linestyle=looks[name][1], clip_on=False)
    for name, position in ((name, position) for name, positions in marks.items() for position in positions):
        axes.axvline(position, color=looks[name][0], linestyle=looks[name][1])
    if level:
        axes.axhline(level[0], color=_LEVEL[0], linestyle=_LEVEL[1], linewidth=_LEVEL_WIDTH)
    scale_x(axes, x_axis, min(x), max(x))
    others = [*(level[:1] if level else ()), *(here[1:2] if here else ())]
    _scale_y(axes, y_axis, [*(value for values in series.values() for value in values), *others])
    if here:
        _point(axes, next(iter(series.values())), *here)
    figure.text(0.02, axes.get_position().y1 + 0.02, y_axis.label, va="bottom")
    return svg(figure, alt)


def _scale_y(axes: "Axes", axis: Axis, heights: Sequence[float]) -> None:
    low, high = (min(heights), max(heights)) if axis.log else (0, max(heights) * 1.05 or 1)
    axes.yaxis.grid(visible=True)
    if axis.log:
        axes.set_yscale("log", base=axis.log_base)
    axes.set_ylim(low / 1.15 if axis.log else -_ABOVE_THE_AXIS * high, high)
    axes.set_yticks(*ticks(axis, low, high))
    axes.minorticks_off()


def _shade(axes: "Axes", x: Sequence[float], series: Mapping[str, Sequence[float]], gap: Gap) -> None:
    upper, lower = series[gap.upper], series[gap.lower]
    axes.fill([*x, *reversed(x)], [*upper, *reversed(lower)], color=PURPLE, alpha=_SHADE, linewidth=0)
    place = min(range(len(x)), key=lambda index: abs(x[index] - gap.x))
    axes.plot([x[place]] * 2, [lower[place], upper[place]], color=PURPLE)


def _point(axes: "Axes", heights: Sequence[float], x: float, y: float, label: str) -> None:
    """Where there is more room its label stands beside it."""
    across = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[0]
    axes.text(x, y, "●", color=VERMILION, ha="center", va="center_baseline")
    beside = f"\N{NO-BREAK SPACE}{label}\N{NO-BREAK SPACE}"
    side = "right" if across > 0.5 else "left"
    free_below = (heights[-1] >= heights[0]) == (side == "left")  # on the other side of the line than it goes on
    axes.text(x, y, beside, ha=side, va="top" if free_below else "bottom")
