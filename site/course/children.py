"""Runs other programs for the builder, several at once, and ends them all when the build fails or is broken off."""

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock

from course.errors import CourseError


class ChildError(Exception):
    """A program ended with an error; the text is what it said."""


class Children:
    """Programs that are running now."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = Lock()
        self._stopped = False

    def run(
        self,
        command: Sequence[str | Path],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] = lambda line: None,
    ) -> str:
        """Run `command` to its end and return what it prints; `on_line` gets each line as it comes.

        Raises:
            ChildError: with what it wrote to standard error, or else to standard output.
            CourseError: the build has been stopped.
        """
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            child = self._start(command, folder, environment, errors.fileno())
            lines = []
            with child:
                assert child.stdout is not None
                for line in child.stdout:
                    lines.append(line)
                    on_line(line)
            with self._lock:
                self._running.discard(child)
            if self._stopped:
                raise CourseError("broken off")
            if child.returncode:
                errors.seek(0)
                raise ChildError(errors.read() or "".join(lines))
        return "".join(lines)

    def stop(self) -> None:
        """End all of them; none can be started any more."""
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.terminate()

    def _start(
        self, command: Sequence[str | Path], folder: Path | None, environment: Mapping[str, str] | None, errors: int
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise CourseError("broken off")
            child = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="replace",
            )
            self._running.add(child)
            return child


children = Children()
"""The build's own."""
