"""Enough of a shell's grammar to see commands as the shell would: quotes, arrays, continuations, here-documents."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kvtiers.errors import KvtiersError

_OPERATORS = ";&|()<>"
_OPERATOR = re.compile(r"<<<|<<-|<<|>>|>\||>&|<&|&&|\|\||.")
_BETWEEN = re.compile(r"(?:\\\n|[^\S\n]|#[^\n]*)+")  # words
_BETWEEN_ITEMS = re.compile(r"(?:\\\n|\s|#[^\n]*|[;&|(<>])+")
_BLANKS = re.compile(r"[ \t]*")
_LINE = re.compile(r"[^\n]*\n?")
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_PLAIN = re.compile(r"[^\s\\$\"'`;&|()<>]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\\$\"`]+")
_PLAIN_INSIDE = re.compile(r"[^\\$\"'`]+")  # of ${…}
_DEFAULT = re.compile(r"(\{\w+:?[-=+?])(.*)\}", re.DOTALL)
_NAME = re.compile(r"\w+|[@*#?!-]")
_QUOTED = {
    "'": re.compile(r"([^']*)'"),
    "$'": re.compile(r"((?:[^'\\]|\\.)*)'", re.DOTALL),
    "`": re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL),
}
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "\\'": "'", '\\"': '"'}  # those that JSON in $'…' may need


@dataclass(frozen=True)
class Fragment:
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
    parts: tuple[Fragment, ...] = ()
    items: tuple["Word", ...] | None = None
    open: bool = False


@dataclass
class Command:
    """One simple command: its words, what it redirects to, its here-documents (``literal``: variables stay in them).

    ``piped``: an operator, not the line's end, ended it. ``broken``: lines where it ended too early, and by what.
    """

    words: list[Word] = field(default_factory=list)
    redirects: list[Word] = field(default_factory=list)
    documents: list[Word] = field(default_factory=list)
    piped: bool = False
    broken: list[tuple[int, str]] = field(default_factory=list)


def words_in(text: str, line: int) -> list[Word]:
    """The words of a text that is one command, whatever its lines."""
    return [word for command in _Lexer(text, line, newline_ends=False).commands() for word in command.words]


def commands_in(text: str, first_line: int) -> Iterator[Command]:
    """The simple commands of a script as they were meant: a line that begins with an option belongs to the one above.

    Raises:
        KvtiersError: ``line N: …`` for a quote that is never closed.
    """
    pending, end = None, (0, "")
    for command in _Lexer(text, first_line, newline_ends=True).commands():
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


class _Lexer:
    def __init__(self, text: str, first_line: int, newline_ends: bool) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._first_line = first_line
        self._newlines = [match.start() for match in re.finditer("\n", self._text)]
        self._newline_ends = newline_ends
        self._commands: list[Command] = []
        self._command = Command()
        self._pending: list[tuple[Command, str, bool, bool]] = []

    def commands(self) -> list[Command]:
        while here := self._here:
            if self._take(_BETWEEN):
                continue
            if here == "\n":
                self._newline()
            elif here in _OPERATORS:
                self._operator()
            else:
                self._command.words.append(self._word())
        self._end()
        return self._commands

    @property
    def _here(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    @property
    def _line(self) -> int:
        return self._first_line + bisect_left(self._newlines, self._at)

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Pass what fits here; empty where nothing does."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match[0] if match else ""

    def _newline(self) -> None:
        self._at += 1
        for command, delimiter, dedent, literal in self._pending:
            first, last = self._line, ("^\\t*" if dedent else "^") + re.escape(delimiter) + "$"
            text = self._take(re.compile(rf".*?(?={last})|.*", re.DOTALL | re.MULTILINE)).removesuffix("\n")
            self._take(_LINE)
            command.documents.append(Word(re.sub("(?m)^\t+", "", text) if dedent else text, first, literal))
        self._pending.clear()
        if self._newline_ends:
            self._end()

    def _operator(self) -> None:
        operator = self._take(_OPERATOR)
        if operator[0] not in "<>":
            self._command.piped = True
            self._end()
            return
        self._take(_BLANKS)
        if operator in ("<<", "<<-"):
            literal = self._here in ("'", '"', "\\")
            self._pending.append((self._command, self._word().text, operator == "<<-", literal))
        else:
            self._command.redirects.append(self._word())

    def _end(self) -> None:
        if self._command.words or self._command.redirects:
            self._commands.append(self._command)
        self._command = Command()

    def _word(self) -> Word:
        parts: list[Fragment] = []
        line = self._line
        while here := self._here:
            if here == "(" and parts and _ARRAY.fullmatch(_text(parts)):
                return Word(_text(parts), line, items=tuple(self._array()))
            if here.isspace() or here in _OPERATORS:
                break
            parts += self._piece()
        return Word(_text(parts), line, not any(part.expands for part in parts), tuple(parts))

    def _piece(self, quoted: bool = False) -> list[Fragment]:
        """The next piece of a word; within double quotes only \\, $ and ` mean something."""
        plain = self._take(_PLAIN_IN_QUOTES if quoted else _PLAIN)
        if plain:
            return [Fragment(plain)]
        character = self._here
        self._at += 1
        match character:
            case "\\":
                following = self._here
                self._at += 1
                escaped = character + following if quoted and following not in '\\"$`' else following
                return [] if following == "\n" else [Fragment(escaped)]
            case "$":
                return self._dollar(quoted)
            case "`":
                return [Fragment(f"`{self._until('`')}`", True, not quoted)]
            case '"':
                return self._double_quoted()
            case _:
                return [Fragment(self._until("'"))]

    def _dollar(self, quoted: bool) -> list[Fragment]:
        following = self._here
        if following in ("'", '"') and not quoted:
            self._at += 1
            if following == '"':
                return self._double_quoted()
            return [Fragment(re.sub(r"\\.", lambda match: _ESCAPES.get(match[0], match[0]), self._until("$'")))]
        name = self._nested(quoted) if following in ("(", "{") else self._take(_NAME)
        default = _DEFAULT.fullmatch(name)
        if default:
            name = f"{default[1]}{_Lexer(default[2], self._line, newline_ends=False).unquoted(quoted)}}}"
        return [Fragment(f"${name}", True, not quoted)] if name else [Fragment("$")]

    def _double_quoted(self) -> list[Fragment]:
        """After the opening quote: escapes resolved; what follows a bare $ or ` is still to be expanded."""
        first, parts = self._line, [Fragment("")]
        while self._here not in ('"', ""):
            parts += self._piece(quoted=True)
        if not self._here:
            raise KvtiersError(f'line {first}: the quote " is never closed')
        self._at += 1
        return parts

    def _array(self) -> Iterator[Word]:
        self._at += 1
        while self._here not in (")", ""):
            if not self._take(_BETWEEN_ITEMS):
                yield self._word()
        self._at += 1

    def _until(self, quote: str) -> str:
        match = _QUOTED[quote].match(self._text, self._at)
        if match is None:
            raise KvtiersError(f"line {self._line}: the quote {quote[-1]} is never closed")
        self._at = match.end()
        return match[1]

    def unquoted(self, quoted: bool) -> str:
        """The whole text, as the default in ${NAME:-…}, without its quotes."""
        parts: list[Fragment] = []
        while self._here:
            plain = self._take(_PLAIN_INSIDE)
            parts += [Fragment(plain)] if plain else self._piece(quoted)
        return _text(parts)

    def _nested(self, quoted: bool) -> str:
        """Up to the bracket that closes the one here, brackets in quotes not counted; of braces only ${ opens."""
        start, depth, opening = self._at, 0, self._here
        closing = ")" if opening == "(" else "}"
        while here := self._here:
            opens = here == opening and (here == "(" or self._text[self._at - 1] == "$")
            depth += opens - (here == closing)
            self._at += 2 if here == "\\" else 1
            if depth == 0:
                break
            if here == "'" and not (quoted and opening == "{") and self._text.find("'", self._at) >= 0:
                self._until("'")
            elif here == '"':
                self._double_quoted()
        return self._text[start : self._at]


def _text(parts: list[Fragment]) -> str:
    return "".join(part.text for part in parts)
