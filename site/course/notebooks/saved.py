"""What pages show of a notebook before Python runs: its saved view, and what it answers to a reader's first moves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.progress import Progress

from course.notebooks.controls import find_controls
from course.notebooks.export import Notebook
from course.notebooks.loads import are_as_they_were, digest, watched_loads
from course.notebooks.moves import named_pairs, save_moves
from course.notebooks.poster import lock_cells
from course.notebooks.session import running
from course.steps import step

MADE_BY = [Path(__file__).with_name(f"{name}.py") for name in ("session", "controls", "moves", "poster", "loads")]
RAN_BY = ("marimo", "matplotlib", "numpy", "pyyaml")


@dataclass(frozen=True)
class Saved:
    """A notebook as pages show it: its saved view, as HTML, and the answers to moves, as JSON takes them."""

    view: str
    moves: dict[str, Any]


def save_notebooks(
    notebooks: Sequence[Notebook], workers: Executor, cache: Path, progress: Progress
) -> dict[tuple[str, str], Saved]:
    """Every notebook, by language and name. What ``cache`` has of one is taken from there while all that it was
    computed from is as it was."""
    cache.mkdir(parents=True, exist_ok=True)
    with step(progress, "saved states", len(notebooks)) as bar:
        saved = [
            workers.submit(_save, notebook.path, cache / f"{notebook.language}-{notebook.name}.json")
            for notebook in notebooks
        ]
        for each in saved:
            each.add_done_callback(lambda done: None if done.cancelled() or done.exception() else bar.advance())
        # Not as_completed: it waits for ever for what another thread cancels.
        return {
            (notebook.language, notebook.name): each.result() for notebook, each in zip(notebooks, saved, strict=True)
        }


def save_notebook(path: Path) -> Saved:
    """Run the notebook at ``path``. For a process of `marimo_workers`.

    Raises:
        CourseError: it does not run.
    """
    with running(path) as session:
        controls = find_controls(session)
        names = {control.id: control.name for control in controls}
        shown = {cell: state.output for cell, state in session.states.items()}
        pairs = named_pairs(path.read_text(encoding="utf-8"), controls)
        return Saved(lock_cells(shown, names), save_moves(session, controls, pairs))


def _save(path: Path, kept: Path) -> Saved:
    made_by = [*map(digest, MADE_BY), *map(version, RAN_BY)]
    if kept.is_file():
        record = json.loads(kept.read_text(encoding="utf-8"))
        if record["made_by"] == made_by and are_as_they_were(record["loads"]):
            return Saved(**record["saved"])
    with watched_loads(path) as loads:
        saved = save_notebook(path)
    work = kept.with_suffix(".work")  # half a file may not pass for a whole one
    work.write_text(json.dumps({"made_by": made_by, "loads": loads, "saved": vars(saved)}), encoding="utf-8")
    work.replace(kept)
    return saved
