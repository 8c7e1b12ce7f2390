"""Lines that were meant as one command and are several to the shell."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kvtiers.lint.command.shell import Command, Word


def joined(commands: Iterable[Command]) -> Iterator[Command]:
    """Commands as they were meant: a line that begins with an option belongs to the one above it."""
    pending, end = None, (0, "")
    for command in commands:
        words = [word for word in command.words if not _blank(word)]
        if pending and words and re.match(r"--?[A-Za-z]", words[0].text) and not pending.piped:
            pending.broken.append(end)
            pending.words += words
            pending.piped = command.piped
        else:
            if pending:
                yield pending
            pending = replace(command, words=words)
        last = command.words[-1] if command.words else Word("", 0)
        end = last.line, "blank" if _blank(last) else "open"
    if pending:
        yield pending


def _blank(word: Word) -> bool:
    """Does it stand for the blank after a backslash?"""
    return bool(word.parts) and word.text.isspace()
