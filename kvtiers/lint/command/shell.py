"""Enough of a shell's grammar to see commands as the shell would: quotes, arrays, continuations, here-documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvtiers.errors import KvtiersError

_OPERATORS = ";&|()<>"
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


@dataclass(frozen=True)
class Part:
    """A piece of a word. ``expands``: variables in it are filled in; ``splits``: and the result falls into words."""

    text: str
    expands: bool = False
    splits: bool = False


@dataclass(frozen=True)
class Word:
    """A word after quote removal. ``literal``: nothing in it is unknown; ``open``: any number of words, unknown.

    ``parts``: what it was made of, before variables; ``items``: of an array.
    """

    text: str
    line: int
    literal: bool = True
    parts: tuple[Part, ...] = ()
    items: tuple["Word", ...] | None = None
    open: bool = False


@dataclass(frozen=True)
class HereDocument:
    """Text given to a command, most often to write a file. ``expands``: variables in it are filled in."""

    text: str
    line: int
    expands: bool = False


@dataclass
class Command:
    """One simple command: its words, what it redirects to, its here-documents."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Word] = field(default_factory=list)
    documents: list[HereDocument] = field(default_factory=list)
    piped: bool = False  # an operator, not the line's end, ended it
    broken: list[tuple[int, str]] = field(default_factory=list)  # lines where it ended too early, and by what


def parse(text: str, first_line: int = 1, newline_ends: bool = True) -> list[Command]:
    """The simple commands of a script, in order.

    Raises:
        KvtiersError: ``line N: …`` for a quote that is never closed.
    """
    return _Lexer(text, first_line, newline_ends).commands()


class _Lexer:
    def __init__(self, text: str, first_line: int, newline_ends: bool) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._line = first_line
        self._newline_ends = newline_ends
        self._commands: list[Command] = []
        self._command = Command()
        self._pending: list[tuple[Command, str, bool, bool]] = []

    def commands(self) -> list[Command]:
        while self._at < len(self._text):
            if self._text[self._at] == "\n":
                self._newline()
            elif not self._blank():
                if self._text[self._at] in _OPERATORS:
                    self._operator()
                else:
                    self._command.words.append(self._word())
        self._end()
        return self._commands

    def _blank(self) -> bool:
        """Pass what stands between words."""
        if self._text.startswith("\\\n", self._at):
            self._at, self._line = self._at + 2, self._line + 1
        elif self._text[self._at].isspace():
            self._at += 1
        elif self._text[self._at] == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        else:
            return False
        return True

    def _newline(self) -> None:
        self._at, self._line = self._at + 1, self._line + 1
        for pending in self._pending:
            self._document(*pending)
        self._pending.clear()
        if self._newline_ends:
            self._end()

    def _document(self, command: Command, delimiter: str, dedent: bool, expands: bool) -> None:
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
        command.documents.append(HereDocument("\n".join(lines), first, expands))

    def _operator(self) -> None:
        operator = re.compile(r"<<<|<<-|<<|>>|>\||>&|<&|&&|\|\||.").match(self._text, self._at)
        assert operator is not None
        self._at = operator.end()
        if operator[0] in ("<<", "<<-"):
            self._blanks()
            expands = self._text[self._at : self._at + 1] not in ("'", '"', "\\")
            self._pending.append((self._command, self._word().text, operator[0] == "<<-", expands))
        elif operator[0] in ("<", ">", ">>", ">|", ">&", "<&", "<<<"):
            self._blanks()
            self._command.redirects.append(self._word())
        else:
            self._command.piped = True
            self._end()

    def _blanks(self) -> None:
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1

    def _end(self) -> None:
        if self._command.words or self._command.redirects:
            self._commands.append(self._command)
        self._command = Command()

    def _word(self) -> Word:
        parts: list[Part] = []
        line = self._line
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "(" and parts and _ARRAY.fullmatch(_text(parts)):
                return Word(_text(parts), line, items=tuple(self._array()))
            if character.isspace() or character in _OPERATORS:
                break
            parts += self._piece(character)
        return Word(_text(parts), line, not any(part.expands for part in parts), tuple(parts))

    def _piece(self, character: str) -> list[Part]:
        self._at += 1
        following = self._text[self._at : self._at + 1]
        if character == "\\":
            self._at += 1
            self._line += following == "\n"
            return [Part(following)] if following != "\n" else []
        if character == "$":
            return self._dollar(following)
        if character == '"':
            return self._double_quoted()
        if character in "'`":
            inner = self._until(character)
            return [Part(inner)] if character == "'" else [Part(f"`{inner}`", True, True)]
        return [Part(character)]

    def _dollar(self, following: str, quoted: bool = False) -> list[Part]:
        if following in ("'", '"') and not quoted:
            self._at += 1
            return [Part(_ansi_c(self._until("'", escapes=True)))] if following == "'" else self._double_quoted()
        if following in ("(", "{"):
            return [Part("$" + self._nested(following, ")" if following == "(" else "}"), True, not quoted)]
        name = re.compile(r"\w+|[@*#?!-]").match(self._text, self._at)
        self._at = name.end() if name else self._at
        return [Part(f"${name[0]}", True, not quoted)] if name else [Part("$")]

    def _double_quoted(self) -> list[Part]:
        """After the opening quote: escapes resolved; what follows a bare $ or ` is still to be expanded."""
        first, parts = self._line, [Part("")]
        while self._text[self._at : self._at + 1] not in ('"', ""):
            character, following = self._text[self._at], self._text[self._at + 1 : self._at + 2]
            self._at += 1
            if character == "\\":
                self._at += 1
                self._line += following == "\n"
                parts.append(Part(following.strip("\n") if following in '\\"$`\n' else character + following))
            elif character == "$":
                parts += self._dollar(following, quoted=True)
            elif character == "`":
                parts.append(Part(f"`{self._until('`')}`", True))
            else:
                self._line += character == "\n"
                parts.append(Part(character))
        if self._at >= len(self._text):
            raise KvtiersError(f'line {first}: the quote " is never closed')
        self._at += 1
        return parts

    def _array(self) -> Iterator[Word]:
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._text[self._at] == "\n":
                self._at, self._line = self._at + 1, self._line + 1
            elif not self._blank():
                if self._text[self._at] in _OPERATORS:
                    self._at += 1
                else:
                    yield self._word()
        self._at += 1

    def _until(self, quote: str, escapes: bool = False) -> str:
        first, start = self._line, self._at
        while self._at < len(self._text) and self._text[self._at] != quote:
            self._at += 2 if (escapes or quote != "'") and self._text[self._at] == "\\" else 1
        if self._at >= len(self._text):
            raise KvtiersError(f"line {first}: the quote {quote} is never closed")
        inner = self._text[start : self._at]
        self._at += 1
        self._line += inner.count("\n")
        return inner

    def _nested(self, opening: str, closing: str) -> str:
        """Up to the bracket that closes the one here, brackets in quotes not counted."""
        start, depth, line = self._at, 0, self._line
        while self._at < len(self._text):
            character = self._text[self._at]
            depth += {opening: 1, closing: -1}.get(character, 0)
            self._at += 2 if character == "\\" else 1
            if depth == 0:
                break
            if character == "'" and "'" in self._text[self._at :]:
                self._until("'")
            elif character == '"':
                self._double_quoted()
        self._line = line + self._text[start : self._at].count("\n")
        return self._text[start : self._at]


def _text(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)


def _ansi_c(inner: str) -> str:
    def resolved(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2] if match[2] in "\\'\"?" else match[0])

    return re.sub(r"\\(?:x([0-9A-Fa-f]{1,2})|(.))", resolved, inner, flags=re.DOTALL)
