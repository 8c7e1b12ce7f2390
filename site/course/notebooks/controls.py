"""The controls of a notebook: what they are called in a page's address, and which of their values are saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from typing import Any, Literal

from course.errors import CourseError
from course.notebooks.session import Moves, Session

Kind = Literal["slider", "steps", "choice", "switch", "number", "free"]
STOPS = 33
"""So many places a long slider has before Python is there."""
PAIRED_STOPS = 7
"""And so many, about, where two controls are moved."""


@dataclass(frozen=True)
class Control:
    """One control.

    Attributes:
        name: its own, in addresses: the variable's, or ``variable.key`` for one of a dictionary.
        variable: what it or its dictionary is called in the notebook.
        key: its own in the dictionary; None outside of one.
        id: marimo's, here and in the browser.
        values: the saved ones in order, as an address says them; none for texts, files and numbers without ends.
        default: its value at first.
        limits: lowest, highest, and the step between two values, of a number or a slider without named steps.
        resets: the controls that are made anew when it is moved.
    """

    name: str
    variable: str
    key: str | None
    id: str
    kind: Kind
    values: tuple[str, ...]
    default: str
    limits: tuple[float, float, float] | None
    resets: tuple[str, ...]

    @property
    def coarse(self) -> tuple[str, ...]:
        """The values that are saved together with those of another control."""
        if self.kind not in ("slider", "steps", "number"):
            return self.values
        stride = -(-len(self.values) // PAIRED_STOPS)
        here = self.values.index(self.default)
        at = {0, len(self.values) - 1, *range(here % stride, len(self.values), stride)}
        return tuple(self.values[index] for index in sorted(at))

    def described(self) -> dict[str, object]:
        """What a page needs to know of it."""
        about: dict[str, object] = {"kind": self.kind, "id": self.id, "values": self.values, "default": self.default}
        return (
            about | ({"limits": self.limits} if self.limits else {}) | ({"resets": self.resets} if self.resets else {})
        )

    def sent(self, element: Any, value: str) -> object:
        """What marimo's frontend sends for `value` of this ``element``."""
        match self.kind:
            case "slider" | "number":
                return _number(value)
            case "steps":
                return self.values.index(value)
            case "choice":
                key = list(element.options)[self.values.index(value)]
                return [key] if isinstance(element._initial_value_frontend, list) else key
            case "switch":
                return value == "on"
        return value


def find_controls(session: Session) -> list[Control]:
    """The controls in the notebook's variables.

    Raises:
        CourseError: two values of one of them would be called alike.
    """
    elements: dict[str, tuple[str, str | None, Any]] = {}
    for variable, value in session.variables.items():
        if hasattr(value, "elements"):
            elements |= {f"{variable}.{key}": (variable, key, element) for key, element in value.elements.items()}
        elif hasattr(value, "_initial_value_frontend"):
            elements[variable] = (variable, None, value)
    definers = {name: session.definer(variable) for name, (variable, *_) in elements.items()}
    found = []
    for name, (variable, key, element) in elements.items():
        dependent = session.dependent(variable)
        resets = tuple(other for other, cell in definers.items() if cell in dependent)
        found.append(Control(name, variable, key, element._id, *_described(name, element), resets))
    return found


def moves(moved: Sequence[tuple[Control, str]]) -> Moves:
    """The moves of these controls to these values, for a session: a dictionary's controls in one."""
    by_variable: dict[str, list[tuple[Control, str]]] = {}
    for control, value in moved:
        by_variable.setdefault(control.variable, []).append((control, value))

    return {variable: partial(_sent, own) for variable, own in by_variable.items()}


def _sent(own: Sequence[tuple[Control, str]], element: Any) -> object:
    (control, value), *_ = own
    if control.key is None:
        return control.sent(element, value)
    return {control.key: control.sent(element.elements[control.key], value) for control, value in own}


def _described(name: str, element: Any) -> tuple[Kind, tuple[str, ...], str, tuple[float, float, float] | None]:
    kind, first = element._name, element._value
    match kind:
        case "marimo-slider" if element.steps:
            return "steps", _unlike(name, [_word(step) for step in element.steps]), _word(first), None
        case "marimo-slider":
            limits = (element.start, element.stop, element.step or 1)
            return "slider", _stops(*limits, first), _word(first), limits
        case "marimo-dropdown" | "marimo-radio":
            words = _unlike(name, [_word(value) for value in element.options.values()])
            return "choice", words, _word(first), None
        case "marimo-switch" | "marimo-checkbox":
            return "switch", ("off", "on"), "on" if first else "off", None
        case "marimo-number":
            limits = (element.start, element.stop, element.step or 0)
            return "number", _round_numbers(element.start, element.stop, first), _word(first), limits
    return "free", (), first if isinstance(first, str) else "", None


def _stops(low: float, high: float, step: float, default: float) -> tuple[str, ...]:
    """Evenly spread places from ``low`` to ``high``, the default among them."""
    count = round((high - low) / step)
    stride = -(-count // (STOPS - 1))
    here = round((default - low) / step)
    places = sorted({0, count, *range(here % stride, count + 1, stride)})
    return tuple(_word(round(low + place * step, 10)) for place in places)


def _round_numbers(low: float | None, high: float | None, default: float) -> tuple[str, ...]:
    """What is typed most into a field of numbers above zero: those with one significant digit; both ends and the
    default. None where an end is open."""
    if low is None or high is None or low <= 0:
        return ()
    powers = range(floor(log10(low)), floor(log10(high)) + 1)
    places = {low, high, default, *(float(f"{digit}e{power}") for power in powers for digit in range(1, 10))}
    return tuple(_word(place) for place in sorted(places) if low <= place <= high)


def _unlike(name: str, words: list[str]) -> tuple[str, ...]:
    if len(set(words)) < len(words):
        raise CourseError(f"{name}: two of its values have one name in addresses: {', '.join(words)}")
    return tuple(words)


def _word(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


def _number(word: str) -> float:
    return float(word) if "." in word or "e" in word else int(word)
