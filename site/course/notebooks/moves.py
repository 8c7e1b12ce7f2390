"""What a notebook shows after a reader's first moves, computed here by the notebook itself.

Saved is what each cell shows at every saved value of each control, all others at their defaults, and at the values of
the pairs of controls that the notebook names; with it, which controls that rests on. A page may show it whenever no
other of these is moved. An output is kept once, as what differs from the cell's first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from course.errors import CourseError
from course.notebooks.controls import Control, moves
from course.notebooks.poster import lock_controls
from course.notebooks.session import Session, State, States

PARTS = re.compile(r"(?=<)")
"""Outputs are compared element by element."""
HEADER = re.compile(r"\A# /// script\n((?:#.*\n)*?)# ///\n")
Pair = tuple[Control, Control]


def named_pairs(source: str, controls: Iterable[Control]) -> list[Pair]:
    """The pairs of controls that a notebook names in its header:
    ``tool.course.pairs = [["source", "public"]]``.

    Raises:
        CourseError: it has no such control, or none of its values is saved.
    """
    header = HEADER.match(source)
    lines = (line.removeprefix("#").removeprefix(" ") for line in (header[1] if header else "").splitlines())
    named = tomllib.loads("\n".join(lines)).get("tool", {}).get("course", {}).get("pairs", [])
    saved = {control.name: control for control in controls if control.values}
    unknown = {name for pair in named for name in pair} - saved.keys()
    if unknown:
        raise CourseError(
            f"tool.course.pairs: no such control, or no values of it to save: {', '.join(sorted(unknown))}"
        )
    return [(saved[first], saved[second]) for first, second in named]


def save_moves(session: Session, controls: list[Control], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Everything that a page needs to answer moves, as JSON takes it."""
    named: dict[str, list[str]] = {}
    for control in controls:
        for identity in {control.id, session.variables[control.variable]._id}:
            named.setdefault(identity, []).append(control.name)
    names = {control.id: control.name for control in controls}
    cells = {cell: _Cell(state, names, named) for cell, state in session.states.items()}
    single = {
        (control, value): session.moved(moves([(control, value)])) if value != control.default else {}
        for control in controls
        for value in control.values
    }
    for control in controls:
        states = [single[control, value] for value in control.values]
        for cell in {cell for each in states for cell in each}:
            cells[cell].singles[control.name] = [cells[cell].place(each.get(cell)) for each in states]

    def is_read(control: Control, states: States) -> bool:
        own = {control.id, session.variables[control.variable]._id}
        return any(own & state.read for state in (session.states | states).values())

    def both(first: Control, one: str, second: Control, other: str) -> States:
        if one == first.default or not is_read(first, single[second, other]):
            return single[second, other]
        if other == second.default or not is_read(second, single[first, one]):
            return single[first, one]
        return session.moved(moves([(first, one), (second, other)]))

    for at, (first, second) in enumerate(pairs):
        grid = [[both(first, one, second, other) for other in second.coarse] for one in first.coarse]
        for cell in {cell for row in grid for each in row for cell in each}:
            cells[cell].pairs[at] = [[cells[cell].place(each.get(cell)) for each in row] for row in grid]
    return {
        "pairs": [[first.name, first.coarse, second.name, second.coarse] for first, second in pairs],
        "controls": {control.name: control.described() for control in controls},
        "cells": {name: described for name, cell in cells.items() if (described := cell.described())},
    }


class _Cell:
    """What one cell shows in all states: the first of them is the default."""

    def __init__(self, default: State, names: dict[str, str], named: dict[str, list[str]]) -> None:
        self.singles: dict[str, list[int]] = {}
        self.pairs: dict[int, list[list[int]]] = {}
        self._names, self._named, self._default = names, named, default
        self._places: dict[State, int] = {default: 0}

    def place(self, state: State | None) -> int:
        return self._places.setdefault(state or self._default, len(self._places))

    def described(self) -> dict[str, object]:
        """Nothing for one that no control can change."""
        reads = [sorted({name for each in state.read for name in self._named.get(each, [])}) for state in self._places]
        if not any(reads):
            return {}
        distinct = sorted(set(map(tuple, reads)))
        default, *others = (self._parts(state.output) for state in self._places)
        return {
            "default": default if others else [],
            "patches": [_patch(default, other) for other in others],
            "reads": distinct,
            "read": [distinct.index(tuple(read)) for read in reads],
            "singles": self.singles,
            "pairs": self.pairs,
        }

    def _parts(self, output: str) -> list[str]:
        return [part for part in PARTS.split(lock_controls(output, self._names)) if part]


def _patch(before: list[str], after: list[str]) -> list[object]:
    """How to make ``after`` of ``before``: where to begin, how many parts to leave out, the parts to put in; from the
    end to the beginning."""
    if len(before) == len(after):
        same = [part == other for part, other in zip(before, after, strict=True)]
        changes = [(at, at + 1, at, at + 1) for at, is_same in enumerate(same) if not is_same]
    else:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        changes = [tuple(change) for tag, *change in matcher.get_opcodes() if tag != "equal"]  # type: ignore[misc]
    return [[start, stop - start, *after[low:high]] for start, stop, low, high in reversed(changes)]
