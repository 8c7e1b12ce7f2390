"""Lines that were meant as one command and are several to the shell."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kvtiers.lint.command.shell import Command


def joined(commands: Iterable[Command]) -> Iterator[Command]:
    """Commands as they were meant: a line that begins with an option belongs to the one above it."""
    pending: Command | None = None
    for command in commands:
        blank = bool(command.words) and command.words[-1].text.isspace() and bool(command.words[-1].parts)
        end = "blank" if blank else "open"
        words = [word for word in command.words if not (word.text.isspace() and word.parts)]
        if pending and words and re.match(r"--?[A-Za-z]", words[0].text) and not pending.piped:
            line, ended_by = pending.broken.pop()
            pending.broken += [(line, ended_by), (words[-1].line, end)]
            pending.words += words
            pending.piped = command.piped
            continue
        if pending:
            yield _closed(pending)
        last = command.words[-1].line if command.words else 0
        pending = replace(command, words=words, broken=[(last, end)])
    if pending:
        yield _closed(pending)


def _closed(command: Command) -> Command:
    """Without its own end among the places where it ended too early."""
    command.broken.pop()
    return command
