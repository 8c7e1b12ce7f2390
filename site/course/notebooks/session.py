"""A notebook that runs here cell by cell, as it does in the browser: its controls can be moved, and what depends on
them runs again, and nothing else does.

Cells and controls have the ids that they have in the browser.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from course.errors import CourseError


class State(NamedTuple):
    """What a cell shows, and why.

    Attributes:
        output: marimo's HTML; empty where it shows nothing.
        read: the ids of the controls whose values it rests on: it and the cells before it have asked for them. While
            these stay, no other control can change what it shows.
    """

    output: str
    read: frozenset[str]


States = dict[str, State]
"""By the cells' ids."""
Moves = Mapping[str, Callable[[Any], object]]
"""What a control gets, as marimo's frontend sends it, asked of the control itself; by the variable that holds it."""
SETUP = "setup"


@contextlib.contextmanager
def running(path: Path) -> Iterator[Session]:
    """The notebook at ``path``, run once with its defaults. For a process of `marimo_workers`.

    Raises:
        CourseError: the notebook does not run.
    """
    from marimo._ast.app import InternalApp  # noqa: PLC0415  only the processes that run notebooks have marimo
    from marimo._messaging.types import NoopStream  # noqa: PLC0415
    from marimo._runtime.context.script_context import initialize_script_context  # noqa: PLC0415
    from marimo._runtime.context.types import teardown_context  # noqa: PLC0415
    from marimo._runtime.patches import create_main_module, patch_main_module_context  # noqa: PLC0415

    spec = importlib.util.spec_from_file_location("notebook", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            spec.loader.exec_module(module)
            app = InternalApp(module.app)
            main = create_main_module(file=str(path), input_override=None)
            main.__dict__.update(module.app._setup._glbls)
            initialize_script_context(app=app, stream=NoopStream(), filename=str(path))
            try:
                with patch_main_module_context(main):
                    yield Session(app, main.__dict__)
            finally:
                teardown_context()
    except (Exception, SystemExit) as error:
        raise CourseError(f"{path} does not run:\n{traceback.format_exc()[-2000:]}") from error


class Session:
    """A notebook that has been run.

    Attributes:
        states: its cells at the defaults, in the notebook's order.
        variables: what its cells define, name and value, in the order in which they do.
    """

    def __init__(self, app: Any, values: dict[str, Any]) -> None:
        from marimo._runtime.context.types import get_context  # noqa: PLC0415

        self._cells, self._graph, self._values = app.graph.cells, app.graph, values
        self._context: Any = get_context()
        self._order = [str(cell) for cell in app.execution_order if cell != SETUP]
        self._outputs: dict[str, str] = {}
        self._read: dict[str, frozenset[str]] = {}
        self._stopped: frozenset[str] = frozenset()
        for cell in self._order:
            self._run(cell)
        self.states: States = {cell: self._state(cell) for cell in app.cell_manager.cell_ids() if cell != SETUP}
        defined = {name for cell in self._order for name in self._cells[cell].defs}
        self.variables = {name: value for name, value in values.items() if name in defined}

    def definer(self, name: str) -> str:
        """The cell that defines this variable."""
        (cell,) = self._graph.get_defining_cells(name)
        return str(cell)

    def dependent(self, name: str) -> list[str]:
        """The cells that run again in the browser when the control in this variable is moved."""
        from marimo._runtime.dataflow import transitive_closure  # noqa: PLC0415

        referring = self._graph.get_referring_cells(name, language="python") - {self.definer(name)}
        chosen = transitive_closure(self._graph, referring)
        return [cell for cell in self._order if cell in chosen]

    def moved(self, moves: Moves) -> States:
        """The cells whose states are not the default ones when the controls in these variables get these values.

        All is as before afterwards.
        """
        registry = vars(self._context.ui_element_registry)
        before = dict(self._values)
        outputs, read, stopped = dict(self._outputs), dict(self._read), self._stopped
        registered = {name: dict(entries) for name, entries in registry.items() if isinstance(entries, dict)}
        try:
            dependent = {cell for name in moves for cell in self.dependent(name)}
            self._run_again(moves, dependent)
            states = {cell: self._state(cell) for cell in self._order if cell in dependent}
            return {cell: state for cell, state in states.items() if state != self.states[cell]}
        finally:
            for name in moves:
                before[name]._update(before[name]._initial_value_frontend)
            self._values.clear()  # the notebook's functions hold on to it
            self._values.update(before)
            self._outputs, self._read, self._stopped = outputs, read, stopped
            registry.update(registered)

    def _state(self, cell: str) -> State:
        before = [self._read.get(each, frozenset()) for each in self._graph.ancestors(cell)]
        return State(self._outputs[cell], self._read[cell].union(*before))

    def _run_again(self, moves: Moves, dependent: Container[str]) -> None:
        """Move controls and run what depends on them, once. A cell none of whose values has changed would show the
        same: it is spared. What is made anew by the move of another is moved after it."""
        changed: set[str] = set()

        def move(names: Iterable[str]) -> None:
            for name in names:
                control = self._values[name]
                control._update(moves[name](control))
                changed.add(name)

        move(name for name in moves if self.definer(name) not in dependent)
        for cell in self._order:
            if cell in dependent and changed & self._cells[cell].refs:
                before = {name: self._values.get(name) for name in self._cells[cell].defs}
                self._run(cell)
                changed |= {name for name, value in before.items() if not _is_same(value, self._values.get(name))}
            move(name for name in moves if self.definer(name) == cell and cell in dependent)

    def _run(self, name: str) -> None:
        """Run a cell. It shows what it stops with, if it does; nothing, if one that it depends on has stopped."""
        from marimo import as_html  # noqa: PLC0415
        from marimo._plugins.ui._core.ids import IDProvider  # noqa: PLC0415
        from marimo._runtime.control_flow import MarimoStopError  # noqa: PLC0415

        cell = self._cells[name]
        for defined in cell.defs:
            self._values.pop(defined, None)
        self._outputs[name], self._read[name], self._stopped = "", frozenset(), self._stopped - {name}
        if self._stopped & self._graph.ancestors(name):
            return
        self._context.take_id = IDProvider(name).take_id
        with self._context.with_cell_id(name), self._watched() as read:
            try:
                exec(cell.body, self._values)
                output = eval(cell.last_expr, self._values)
            except MarimoStopError as stop:
                output = stop.output
                self._stopped |= {name}
            self._outputs[name] = "" if output is None else str(as_html(output).text)
        self._read[name] = frozenset(read)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[set[str]]:
        """The ids of the controls whose values are asked for meanwhile: marimo looks up the cell of each."""
        registry = self._context.ui_element_registry
        read: set[str] = set()

        def get_cell(control: str) -> str:
            read.add(control)
            return str(type(registry).get_cell(registry, control))

        registry.get_cell = get_cell
        yield read
        del registry.get_cell


def _is_same(value: Any, other: Any) -> bool:
    """Whether nothing can tell the two apart: 1 and 1.0 are equal and are written differently."""
    try:
        return type(value) is type(other) and bool(value == other) and repr(value) == repr(other)
    except Exception:  # some can't be compared
        return False
