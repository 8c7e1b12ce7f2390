import subprocess
import sys
from collections.abc import Callable
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from kvtiers import charts
from kvtiers.charts import Axis
from kvtiers.units import GIB, format_bytes

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
    ),
    "layer_rows": lambda: charts.layer_rows({"滑動視窗": [0, 1], "完整": [2]}, 3, Axis("層"), ALT),
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
drawings = pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())


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
    texts = [element for element in ElementTree.fromstring(draw()).iter() if element.tag.endswith("text")]
    assert texts
    for text in texts:
        style = text.get("style", "")
        assert "font-family" not in style
        assert "currentColor" in style or "●" in "".join(text.itertext())


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
