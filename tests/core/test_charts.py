import re
import subprocess
import sys
from collections.abc import Callable
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from kvtiers import charts
from kvtiers.charts import Axis
from kvtiers.units import GIB, format_bytes, format_seconds
from tests.core.phone import illegible

ALT = 'Größe <& "KV">'
DRAWINGS: dict[str, Callable[[], str]] = {
    "stacked_bars": lambda: charts.stacked_bars(
        {"請求 1": [3, 1], "請求 2": [0, 4]}, ["重用", "計算"], Axis("token"), ALT
    ),
    "log_bars": lambda: charts.log_bars(
        {"1M": 122 * GIB, "none": 0},
        Axis("KV", format_bytes, log=True, log_base=4),
        (GIB, 4096 * GIB),
        ALT,
        {"VRAM": 10 * GIB},
        beyond=["fits", "does not"],
    ),
    "layer_rows": lambda: charts.layer_rows({"滑動視窗": [0, 1], "完整": [2]}, 3, Axis("層"), ALT),
    "spread_bars": lambda: charts.spread_bars(
        [
            charts.SpreadBar("從 SSD 載回", 0, 0.133, 0.128, 0.192, "133 ms (128–192 ms)", "own 0, L2 1,280", 0.2),
            charts.SpreadBar("逐出", 1, 1.35, 0.84, 2.55, "1.35 s (841–2554 ms)"),
        ],
        ["LMCache", "對照組"],
        Axis("TTFT", format_seconds),
        ALT,
        "reference",
    ),
    "gap": lambda: charts.lines(
        [0, 1, 2],
        {"重算": [0, 5, 10], "載回": [0, 0, 0]},
        Axis("x"),
        Axis("y", format_seconds),
        ALT,
        gap=charts.Gap("重算", "載回", 1, "省下 5 s"),
        level=(1.0, "1 s"),
    ),
    "lines": lambda: charts.lines(
        [1, 10, 100],
        {"上限": [100, 10, 1]},
        Axis("x", log=True),
        Axis("y", log=True),
        ALT,
        here=(10, 10, "你在這裡"),
        marks={"平衡": [50]},
    ),
}
BELOW_THE_BASELINE_PX = 2.5
"""Of 12 px letters: as far as a Chinese one reaches."""
drawings = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())


def _texts(drawing: str) -> list[ElementTree.Element]:
    return [element for element in ElementTree.fromstring(drawing).iter() if element.tag.endswith("text")]


@drawings
def test_a_chart_is_one_svg_element_with_alt_text(draw: Callable[[], str]) -> None:
    svg = ElementTree.fromstring(draw())
    assert svg.tag.endswith("svg")
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == ALT


@drawings
def test_a_page_can_hold_two_charts(draw: Callable[[], str]) -> None:
    """No ids to repeat, and no style sheet or reference that reaches beyond the chart."""
    svg = ElementTree.fromstring(draw())
    assert not [element for element in svg.iter() if element.get("id") or element.get("clip-path")]
    assert not [element for element in svg.iter() if element.tag.endswith(("style", "use", "image"))]


@drawings
def test_text_is_text_in_the_pages_font_and_colour(draw: Callable[[], str]) -> None:
    texts = _texts(draw())
    assert texts
    for text in texts:
        style = text.get("style", "")
        assert "font-family" not in style
        assert "currentColor" in style or "●" in "".join(text.itertext())


@drawings
def test_text_is_legible_and_within_the_chart_on_a_phone(draw: Callable[[], str]) -> None:
    assert list(illegible(draw())) == []


def test_a_text_beyond_the_edge_is_seen() -> None:
    long = charts.stacked_bars({"a": [1]}, ["a part with a name that no phone is wide enough to show"], Axis("x"), ALT)
    assert len(list(illegible(long))) == 1


def test_a_line_at_zero_lies_above_the_axis() -> None:
    """The axis is drawn over the lines."""
    drawing = DRAWINGS["gap"]()
    at = {
        look: float(y)
        for y, style in re.findall(r'<path d="M [\d.]+ ([\d.]+)[^"]*" style="([^"]*)"', drawing)
        for look in ("#e69f00; stroke-width: 2", "linejoin: miter")
        if look in style
    }
    line_y, axis_y = at.values()
    assert axis_y - line_y > 2


@pytest.mark.parametrize("x", [1, 10, 100])
def test_a_points_label_keeps_off_the_lines_and_inside_the_chart(x: int) -> None:
    """It stands between no two lines: here another falls a little above its own."""
    series = {"below": [100, 10, 1], "above": [400, 40, 4]}
    drawing = charts.lines(
        [1, 10, 100], series, Axis("x", log=True), Axis("y", log=True), ALT, here=(x, 100 / x, "you are here")
    )
    assert list(illegible(drawing)) == []
    label = next(text for text in _texts(drawing) if "you are here" in "".join(text.itertext()))
    assert ("anchor: end" in label.get("style", "")) == (x > 1)


def test_a_mark_beyond_the_axis_is_told_and_not_drawn() -> None:
    drawing = charts.lines([0, 10], {"a": [0, 1]}, Axis("x"), Axis("y"), ALT, marks={"at 20": [20]})
    assert "at 20" in drawing
    width = float(re.findall(r'viewBox="0 0 (\d+)', drawing)[0])
    assert max(float(x) for x in re.findall(r"[ML] ([\d.]+) [\d.]+", drawing)) <= width


@pytest.mark.parametrize("limit", [1, 10, 1000])
def test_a_limit_ends_below_the_text_above_its_bar(limit: int) -> None:
    drawing = charts.log_bars({"需要": 3.0}, Axis("KV", log=True), (1, 1000), ALT, {"limit": limit})
    upright = re.findall(r'd="M ([\d.]+) ([\d.]+) \nL \1 ([\d.]+) \n" style="[^"]*#009e73', drawing)
    top = min(float(y) for _, *ends in upright for y in ends)
    baselines = [float(text.get("y", "0")) for text in _texts(drawing)]
    above = max(y for y in baselines if y < top)
    assert top - above >= BELOW_THE_BASELINE_PX


def test_layers_are_counted_in_whole_ones() -> None:
    ticks = ["".join(text.itertext()) for text in _texts(charts.layer_rows({"all": [0]}, 1, Axis("layer"), ALT))]
    assert not [tick for tick in ticks if "." in tick]


def test_labels_are_drawn_in_the_callers_language() -> None:
    assert "請求 1" in DRAWINGS["stacked_bars"]()
    assert "你在這裡" in DRAWINGS["lines"]()


@drawings
def test_the_same_numbers_give_the_same_drawing(draw: Callable[[], str]) -> None:
    assert draw() == draw()


def test_matplotlibs_own_style_stays() -> None:
    before = dict(mpl.rcParams)
    DRAWINGS["lines"]()
    assert dict(mpl.rcParams) == before


def test_all_zero_bars_can_be_drawn() -> None:
    assert charts.stacked_bars({"none": [0, 0]}, ["a", "b"], Axis("x"), "nothing")


def test_a_notebook_shows_a_chart_as_plain_text() -> None:
    """marimo's encoder in the browser refuses a text of any other kind."""
    shown = charts.stacked_bars({"a": [1]}, ["b"], Axis("x"), ALT)._display_()
    assert type(shown.text) is str  # type: ignore[attr-defined]
    assert shown.text.startswith("<svg")  # type: ignore[attr-defined]


def test_importing_charts_does_not_import_matplotlib() -> None:
    program = "import sys, kvtiers.charts; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
