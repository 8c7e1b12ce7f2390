"""Runs the builder's JavaScript parts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from course.errors import CourseError


def run_node(script: Path, *arguments: Path | str) -> str:
    """Run `script` with node and return what it prints.

    Raises CourseError when node is missing or the script fails.
    """
    try:
        done = subprocess.run(["node", script, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CourseError("node is needed to prepare the browser's part: install it and build again") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).splitlines()
        raise CourseError(f"{script.name} failed:\n" + "\n".join(line[:300] for line in lines[-20:]))
    return done.stdout
