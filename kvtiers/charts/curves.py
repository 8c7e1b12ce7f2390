"""Lines over a common axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kvtiers.charts.drawing import (
    BLUE,
    GREEN,
    INK,
    LINE_IN,
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
    text_in,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox, BboxBase

_LOOKS: tuple[Look, ...] = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"), (VERMILION, "-."))
_LEVEL: Look = (INK, ":")
_LEVEL_WIDTH = 1.5
_SHADE = 0.18
_CORNERS: tuple[tuple[Literal["left", "right"], Literal["bottom", "top"]], ...] = (
    ("left", "bottom"),
    ("left", "top"),
    ("right", "top"),
    ("right", "bottom"),
)
"""Of a label at the point it belongs to: its left or right end there, its lower or upper edge."""
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

    Series and marks have four looks between them. A mark beyond ``x`` stands in the legend only.
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
    for name, positions in marks.items():
        _mark(axes, [each for each in positions if min(x) <= each <= max(x)], looks[name])
    if level:
        axes.axhline(level[0], color=_LEVEL[0], linestyle=_LEVEL[1], linewidth=_LEVEL_WIDTH)
    scale_x(axes, x_axis, min(x), max(x))
    others = [*(level[:1] if level else ()), *(here[1:2] if here else ())]
    _scale_y(axes, y_axis, [*(value for values in series.values() for value in values), *others])
    if here:
        _point(axes, *here)
    figure.text(0.02, axes.get_position().y1 + 0.02, y_axis.label, va="bottom")
    return svg(figure, alt)


def _mark(axes: "Axes", positions: Sequence[float], look: Look) -> None:
    for position in positions:
        axes.axvline(position, color=look[0], linestyle=look[1])


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


def _point(axes: "Axes", x: float, y: float, label: str) -> None:
    """Its label stands beside it where the fewest lines cross it, inside the plot if it can."""
    beside = f"\N{NO-BREAK SPACE}{label}\N{NO-BREAK SPACE}"
    size = (text_in(beside) * axes.figure.dpi, LINE_IN * axes.figure.dpi)
    place = axes.transData.transform((x, y)).tolist()
    crossing = [line.get_path().transformed(line.get_transform()) for line in axes.get_lines()]

    def faults(corner: tuple[str, str]) -> tuple[bool, int]:
        box = _beside(place, size, *corner)
        return not _holds(axes.bbox, box), sum(path.intersects_bbox(box, filled=False) for path in crossing)

    side, above = min(_CORNERS, key=faults)
    axes.text(x, y, "●", color=VERMILION, ha="center", va="center_baseline")
    axes.text(x, y, beside, ha=side, va=above)


def _beside(place: Sequence[float], size: tuple[float, float], side: str, above: str) -> "Bbox":
    """What a text of that size covers, in pixels, without the narrow margin that keeps it off the point itself."""
    from matplotlib.transforms import Bbox  # noqa: PLC0415

    (x, y), (width, height) = place, size
    left, bottom = x - (width if side == "right" else 0), y - (height if above == "top" else 0)
    margin_x, margin_y = 0.05 * width, 0.1 * height
    return Bbox([[left + margin_x, bottom + margin_y], [left + width - margin_x, bottom + height - margin_y]])


def _holds(plot: "BboxBase", inner: "Bbox") -> bool:
    """Whether a box lies within the plot; above its right half there is room too, the left one has the axis's label."""
    top = plot.y1 + (inner.height if inner.x0 > (plot.x0 + plot.x1) / 2 else 0)
    return bool(plot.x0 <= inner.x0 and inner.x1 <= plot.x1 and plot.y0 <= inner.y0 and inner.y1 <= top)
