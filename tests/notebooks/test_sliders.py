"""Every slider and number field, at both ends: figures stay short, and nothing is negative that a reader would lose."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import marimo as mo
import pytest

from tests.notebooks.conftest import Runner

RUNAWAY = re.compile(
    r"(?<!\w)\d(?:\.\d+)?e[+-]?\d+"  # an exponent
    r"|(?<![\w.,–])[-−]\d[\d.,]* ?(?:x|µs|ms|s|min|h|B|[KMGTP]iB)(?!\w)"  # less than nothing
    r"|\d,\d{3},\d{3} ?(?:x|µs|ms|s|min|h|[KMGTP]iB)"  # the unit is too small
    # The far end of a range is in its median's unit, and may be some times that.
    r"|(?:(?<![–\d,])\d|\d\d),\d{3} (?:µs|ms|KiB|MiB|GiB)"
    r"|\b(?:nan|inf)\b"
)
CORNERS: dict[str, Callable[[int], int]] = {
    "all low": lambda _: 0,
    "all high": lambda _: 1,
    "every second high": lambda index: index % 2,
    "the others high": lambda index: 1 - index % 2,
}


def ends(control: Any) -> tuple[Any, Any] | None:
    """The smallest and largest value of a slider or number field."""
    return (control.start, control.stop) if isinstance(control, (mo.ui.slider, mo.ui.number)) else None


def at_corner(names: dict[str, Any], corner: Callable[[int], int]) -> Iterator[tuple[str, Any]]:
    """Each control with sliders, and its value in the corner."""
    index = 0
    for name, control in sorted(names.items()):
        if isinstance(control, mo.ui.dictionary):
            fields = {}
            for key, field in control.elements.items():
                both = ends(field)
                fields[key] = both[corner(index)] if both else field.value
                index += 1
            yield name, fields
        elif both := ends(control):
            yield name, both[corner(index)]
            index += 1


@pytest.mark.parametrize("corner", CORNERS)
def test_no_figure_runs_away(run: Runner, name: str, corner: str) -> None:
    set_to = dict(at_corner(run(name).names, CORNERS[corner]))
    prose = run(name, **set_to).prose
    assert "Traceback" not in prose
    assert [prose[max(0, found.start() - 30) : found.end() + 10] for found in RUNAWAY.finditer(prose)] == []


@pytest.mark.parametrize(
    "text", ["2.68e+03 GiB", "1e+03x", "Saved -140 ms", "1,400 GiB", "889–12,345 ms", "nan s", "12,345,678 s"]
)
def test_what_runs_away_is_seen(text: str) -> None:
    assert RUNAWAY.search(text)


@pytest.mark.parametrize(
    "text", ["1,030x", "13–140 ms", "889–1,000 ms", "Qwen3-8B", "2,400 TB", "cold / reuse", "1.46 TiB", "+7%"]
)
def test_what_is_fine_is_left_alone(text: str) -> None:
    assert not RUNAWAY.search(text)
