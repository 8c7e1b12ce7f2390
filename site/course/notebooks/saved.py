"""What pages show of a notebook before Python runs: its saved view, and what it answers to a reader's first moves."""

from __future__ import annotations

import hashlib
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
from course.notebooks.moves import named_pairs, save_moves
from course.notebooks.poster import lock_cells
from course.notebooks.session import running
from course.steps import step

MADE_BY = [Path(__file__).with_name(f"{name}.py") for name in ("session", "controls", "moves", "poster")]
RAN_BY = ("marimo", "matplotlib", "numpy")


@dataclass(frozen=True)
class Saved:
    """A notebook as pages show it: its saved view, as HTML, and the answers to moves, as JSON takes them."""

    view: str
    moves: dict[str, Any]


def save_notebooks(
    notebooks: Sequence[Notebook], package: Path, workers: Executor, cache: Path, progress: Progress
) -> dict[tuple[str, str], Saved]:
    """Every notebook, by language and name. What has been computed from the same files of the same ``package`` (the
    folder of kvtiers) is taken from ``cache``."""
    cache.mkdir(parents=True, exist_ok=True)
    with step(progress, "saved states", len(notebooks)) as bar:
        saved = [workers.submit(_save, notebook.path, _kept(notebook, package, cache)) for notebook in notebooks]
        for each in saved:
            each.add_done_callback(lambda _: bar.advance())
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
    if kept.is_file():
        return Saved(**json.loads(kept.read_text(encoding="utf-8")))
    saved = save_notebook(path)
    work = kept.with_suffix(".work")  # half a file may not pass for a whole one
    work.write_text(json.dumps(vars(saved)), encoding="utf-8")
    work.replace(kept)
    for other in kept.parent.glob(f"{kept.stem.rpartition('-')[0]}-*.json"):
        if other != kept:
            other.unlink()  # what it was before
    return saved


def _kept(notebook: Notebook, package: Path, cache: Path) -> Path:
    """Where it is kept: named by all that it is computed from."""
    files = [notebook.path, *sorted(notebook.path.parent.glob("public/*")), *MADE_BY]
    files += sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    digest = hashlib.sha256(" ".join(map(version, RAN_BY)).encode())
    for file in files:
        digest.update(file.read_bytes())
    return cache / f"{notebook.language}-{notebook.name}-{digest.hexdigest()[:16]}.json"
