"""What the builder saves of a notebook: which cells a move changes, what that rests on, and how it is kept."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from course.errors import CourseError
from course.notebooks.controls import Control, find_controls, moves
from course.notebooks.moves import named_pairs, save_moves
from course.notebooks.session import Session, running

NOTEBOOK = """# /// script
# tool.course.pairs = [["size", "shape"]]
# ///
import marimo

app = marimo.App()

with app.setup:
    import marimo as mo


@app.cell
def _():
    size = mo.ui.slider(1, 100, value=10, label="Size")
    shape = mo.ui.dropdown({"A line": "line", "A square": "square"}, value="A line")
    doubled = mo.ui.switch()
    text = mo.ui.text("typed")
    price = mo.ui.number(0.05, 2000, value=37.5)
    mo.vstack([size, shape, doubled, text, price])
    return doubled, price, shape, size, text


@app.cell
def _(doubled, shape, size):
    area = size.value ** 2 if shape.value == "square" else size.value * (1 + doubled.value)
    mo.md(f"area {area}")
    return (area,)


@app.cell
def _(area):
    is_large = area > 50
    return (is_large,)


@app.cell
def _(is_large):
    mo.stop(is_large, mo.md("too large"))
    parts = mo.ui.radio(["one", "two"], value="one", label="parts")
    parts
    return (parts,)


@app.cell
def _(price):
    mo.md(f"costs {price.value}")
    return


@app.cell
def _(parts, text):
    mo.md(f"{text.value}, {parts.value}")
    return
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "01_notebook.py"
    path.write_text(NOTEBOOK)
    return path


@pytest.fixture
def session(path: Path) -> Iterator[Session]:
    with running(path) as session:
        yield session


def control(session: Session, name: str) -> Control:
    return next(each for each in find_controls(session) if each.name == name)


def said(session: Session, **values: str) -> list[str]:
    """What the cells whose states these moves change show, tags aside."""
    moved = session.moved(moves([(control(session, name), value) for name, value in values.items()]))
    return ["".join(part.rpartition(">")[2] for part in state.output.split("<")) for state in moved.values()]


def test_a_control_is_called_as_the_notebook_calls_it_and_its_values_as_python_does(session: Session) -> None:
    controls = {each.name: each for each in find_controls(session)}
    assert list(controls) == ["size", "shape", "doubled", "text", "price", "parts"]
    assert controls["shape"].values == ("line", "square")
    assert controls["doubled"].values == ("off", "on")
    assert controls["text"].values == ()
    assert [each.default for each in controls.values()] == ["10", "line", "off", "typed", "37.5", "one"]
    assert controls["size"].id.endswith("-0")


def test_a_long_slider_stops_at_even_places_both_ends_and_its_default(session: Session) -> None:
    stops = list(map(int, control(session, "size").values))
    assert {1, 10, 100} <= set(stops)
    assert 20 < len(stops) < 40
    inner = stops[1:-1]
    assert len({after - before for before, after in pairwise(inner)}) == 1


def test_a_number_has_the_round_ones_its_ends_and_its_default(session: Session) -> None:
    price = control(session, "price")
    places = list(map(float, price.values))
    assert places == sorted(places)
    assert {0.05, 0.07, 0.3, 1, 2, 30, 37.5, 40, 900, 2000} <= set(places)
    assert (min(places), max(places)) == (0.05, 2000)
    assert len(price.coarse) < 10
    assert {"0.05", "37.5", "2000"} <= set(price.coarse)
    assert said(session, price="30") == ["costs 30"]
    assert said(session, price="0.3") == ["costs 0.3"]


def test_a_move_changes_what_depends_on_it_and_leaves_no_trace(session: Session) -> None:
    before = dict(session.states)
    assert said(session, size="12") == ["area 12"]
    assert said(session, size="12", doubled="on") == ["area 24"]
    assert said(session, shape="square") == ["area 100", "", "too large", ""]
    assert said(session, parts="two") == ["typed, two"]
    assert said(session, size="10") == []
    assert session.states == before


def test_moving_one_that_another_comes_from_makes_that_anew(session: Session) -> None:
    assert control(session, "size").resets == ("parts",)
    assert control(session, "parts").resets == ()


def saved(session: Session, path: Path) -> dict[str, Any]:
    controls = find_controls(session)
    return save_moves(session, controls, named_pairs(path.read_text(), controls))


def output(cell: dict[str, Any], place: int) -> str:
    parts = list(cell["default"])
    for at, without, *instead in cell["patches"][place - 1] if place else []:
        parts[at : at + without] = instead
    return "".join(parts)


def test_a_state_is_saved_once_with_what_it_rests_on(session: Session, path: Path) -> None:
    data = saved(session, path)
    cell = next(cell for cell in data["cells"].values() if "area 10" in "".join(cell["default"]))
    values, places = data["controls"]["size"]["values"], cell["singles"]["size"]
    assert [f"area {value}<" in output(cell, place) for value, place in zip(values, places, strict=True)] == [
        True
    ] * len(values)
    line, square = cell["singles"]["shape"]
    assert line == 0
    rests = [cell["reads"][cell["read"][place]] for place in (line, square)]
    assert rests == [("doubled", "shape", "size"), ("shape", "size")]
    assert len(set(places)) == len(values)


def test_the_pairs_that_a_notebook_names_are_saved_on_a_coarser_grid(session: Session, path: Path) -> None:
    data = saved(session, path)
    cell = next(cell for cell in data["cells"].values() if "area 10" in "".join(cell["default"]))
    ((first, sizes, second, shapes),) = data["pairs"]
    places = cell["pairs"][0]
    assert (first, second) == ("size", "shape")
    assert len(sizes) < len(data["controls"]["size"]["values"])
    for size, row in zip(sizes, places, strict=True):
        assert f"area {int(size) ** 2}<" in output(cell, row[shapes.index("square")])


def test_a_pair_of_what_is_not_there_or_not_saved_is_named(session: Session) -> None:
    source = NOTEBOOK.replace('["size", "shape"]', '["size", "colour"], ["text", "size"]')
    with pytest.raises(CourseError, match="colour, text"):
        named_pairs(source, find_controls(session))
