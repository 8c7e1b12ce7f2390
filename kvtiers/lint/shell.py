"""Enough of a POSIX shell's grammar to see commands as the shell would: quotes, continuations, here-documents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kvtiers.errors import KvtiersError

_OPERATORS = ";&|()<>"
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")


@dataclass(frozen=True)
class Word:
    """A word after quote removal. ``literal``: no variable in it may still be expanded."""

    text: str
    line: int
    literal: bool = True


@dataclass(frozen=True)
class HereDocument:
    """Text given to a command, most often to write a file."""

    text: str
    line: int


@dataclass
class Command:
    """One simple command: its words, what it redirects to, its here-documents."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Word] = field(default_factory=list)
    documents: list[HereDocument] = field(default_factory=list)


def parse(text: str, first_line: int = 1, newline_ends: bool = True) -> list[Command]:
    """The simple commands of a script, in order.

    Raises:
        KvtiersError: ``line N: …`` for a quote that is never closed.
    """
    return _Lexer(text, first_line, newline_ends).commands()


def expand(word: Word, variables: Mapping[str, str]) -> Word:
    """The word with known variables filled in; ``literal`` stays False where one is unknown."""
    if word.literal:
        return word
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        name = match[1] or match[3]
        if name in variables:
            return variables[name]
        if match[2] is not None:
            return match[2]
        unknown = True
        return match[0]

    expanded = _VARIABLE.sub(value, word.text)
    return replace(word, text=expanded, literal=not unknown and "$(" not in expanded and "`" not in expanded)


class _Lexer:
    def __init__(self, text: str, first_line: int, newline_ends: bool) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._line = first_line
        self._newline_ends = newline_ends
        self._commands: list[Command] = []
        self._command = Command()
        self._pending: list[tuple[Command, str, bool]] = []

    def commands(self) -> list[Command]:
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._text.startswith("\\\n", self._at):
                self._at, self._line = self._at + 2, self._line + 1
            elif character == "\n":
                self._newline()
            elif character.isspace():
                self._at += 1
            elif character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif character in _OPERATORS:
                self._operator()
            else:
                self._command.words.append(self._word())
        self._end()
        return self._commands

    def _newline(self) -> None:
        self._at, self._line = self._at + 1, self._line + 1
        for command, delimiter, dedent in self._pending:
            self._document(command, delimiter, dedent)
        self._pending.clear()
        if self._newline_ends:
            self._end()

    def _document(self, command: Command, delimiter: str, dedent: bool) -> None:
        first, lines = self._line, []
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[self._at : end]
            self._at, self._line = end + 1, self._line + 1
            line = line.lstrip("\t") if dedent else line
            if line == delimiter:
                break
            lines.append(line)
        command.documents.append(HereDocument("\n".join(lines), first))

    def _operator(self) -> None:
        operator = re.compile(r"<<<|<<-|<<|>>|>\||>&|<&|&&|\|\||.").match(self._text, self._at)
        assert operator is not None
        self._at = operator.end()
        if operator[0] in ("<<", "<<-"):
            self._blanks()
            self._pending.append((self._command, self._word().text, operator[0] == "<<-"))
        elif operator[0] in ("<", ">", ">>", ">|", ">&", "<&", "<<<"):
            self._blanks()
            self._command.redirects.append(self._word())
        else:
            self._end()

    def _blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1

    def _end(self) -> None:
        if self._command.words or self._command.redirects:
            self._commands.append(self._command)
        self._command = Command()

    def _word(self) -> Word:
        parts: list[str] = []
        line, literal = self._line, True
        while self._at < len(self._text):
            character = self._text[self._at]
            if character.isspace() or character in _OPERATORS:
                if character == "(" and parts and parts[-1] == "$":
                    parts.append(self._substitution())
                    continue
                break
            self._at += 1
            if character == "\\":
                following = self._text[self._at : self._at + 1]
                self._at += 1
                if following == "\n":
                    self._line += 1
                else:
                    parts.append(following)
            elif character == "'":
                parts.append(self._until("'"))
            elif character == '"':
                inner = self._until('"')
                literal = literal and "$" not in inner and "`" not in inner
                parts.append(re.sub(r"\\([\\\"$`\n])", lambda match: match[1].strip("\n"), inner))
            else:
                literal = literal and character not in "$`"
                parts.append(character)
        return Word("".join(parts), line, literal)

    def _until(self, quote: str) -> str:
        first, start = self._line, self._at
        while self._at < len(self._text) and self._text[self._at] != quote:
            self._at += 2 if quote == '"' and self._text[self._at] == "\\" else 1
        if self._at >= len(self._text):
            raise KvtiersError(f"line {first}: the quote {quote} is never closed")
        inner = self._text[start : self._at]
        self._at += 1
        self._line += inner.count("\n")
        return inner

    def _substitution(self) -> str:
        start, depth = self._at, 0
        while self._at < len(self._text):
            depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
            self._at += 1
            if depth == 0:
                break
        self._line += self._text[start : self._at].count("\n")
        return self._text[start : self._at]
