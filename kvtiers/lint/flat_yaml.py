"""A reader for the YAML people write by hand in lmcache.yaml and docker-compose files, with line numbers.

Read: nested mappings and lists by indentation, plain, quoted, folded and literal scalars, flow collections, comments,
anchors, aliases, merge keys. Plain scalars resolve as PyYAML's safe loader does (YAML 1.1: yes and on are true), since
that is what LMCache uses. Anything else is refused with its line, never guessed.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from kvtiers.errors import KvtiersError

_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_INTEGER = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>'"{}\[\],%@`?-][^#]*?|-[^\s#][^#]*?):(?=\s|$)"""
)
_BLOCK = re.compile(r"([|>])([+-]?)\s*(?:#.*)?$")


@dataclass(frozen=True)
class Node:
    """A value and its line. ``value`` is a scalar, a list of Nodes, or a dict of Nodes.

    ``lines``: of a block scalar, where its text begins; ``quoted``: written in quotes.
    """

    value: Any
    line: int
    quoted: bool = False
    keys: dict[str, int] = field(default_factory=dict, compare=False)

    def plain(self) -> Any:
        """The value without lines, as a YAML loader gives it."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


@dataclass(frozen=True)
class _Line:
    indent: int
    text: str
    number: int


def read(text: str) -> Node:
    """The document.

    Raises:
        KvtiersError: ``line N: …`` for what is not read here, or is not YAML.
    """
    reader = _Reader(text)
    node = reader.block(0)
    reader.expect_end()
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._raw = text.replace("\r\n", "\n").split("\n")
        self._lines = [line for line in map(self._line, range(len(self._raw))) if line]
        self._at = 0
        self._anchors: dict[str, Node] = {}

    def _line(self, index: int) -> _Line | None:
        raw = self._raw[index]
        stripped = raw.strip()
        if not stripped or stripped.startswith("#") or stripped == "---":
            return None
        return _Line(len(raw) - len(raw.lstrip(" ")), stripped, index + 1)

    def expect_end(self) -> None:
        if self._at < len(self._lines):
            self._refuse(self._lines[self._at], "this does not continue what stands above it")

    def block(self, indent: int) -> Node:
        if self._at >= len(self._lines):
            return Node(None, 1)
        first = self._lines[self._at]
        if first.text.startswith("\t") or "\t" in self._raw[first.number - 1][: first.indent + 1]:
            self._refuse(first, "a tab cannot indent YAML")
        if first.indent < indent:
            return Node(None, first.number)
        if first.text == "-" or first.text.startswith("- "):
            return self._list(first.indent)
        if _KEY.match(first.text):
            return self._mapping(first.indent)
        self._at += 1
        return self._inline(first.text, first, first.indent)

    def _list(self, indent: int) -> Node:
        items: list[Node] = []
        line = self._lines[self._at].number
        while self._at < len(self._lines):
            current = self._lines[self._at]
            if current.indent != indent or not (current.text == "-" or current.text.startswith("- ")):
                break
            rest = current.text[1:].lstrip()
            if not rest or rest.startswith("#"):
                self._at += 1
                items.append(self._nested(indent + 1, current))
            elif _KEY.match(rest):
                inner = current.indent + len(current.text) - len(rest)
                self._lines[self._at] = _Line(inner, rest, current.number)
                items.append(self._mapping(inner))
            else:
                self._at += 1
                items.append(self._inline(rest, current, indent))
        return Node(items, line)

    def _mapping(self, indent: int) -> Node:
        entries: dict[str, Node] = {}
        keys: dict[str, int] = {}
        line = self._lines[self._at].number
        while self._at < len(self._lines) and self._lines[self._at].indent == indent:
            current = self._lines[self._at]
            match = _KEY.match(current.text)
            if not match:
                break
            key = str(self._scalar(match["key"].strip(), current).value)
            rest = current.text[match.end() :].strip()
            self._at += 1
            value = self._value(rest, current, indent)
            if key == "<<":
                for merged in value.value if isinstance(value.value, list) else [value]:
                    if not isinstance(merged.value, (dict, type(None))):
                        self._refuse(current, "<< merges mappings only")
                    entries = {**(merged.value or {}), **entries}
                    keys = {**merged.keys, **keys}
            else:
                entries[key] = value
                keys[key] = current.number
        return Node(entries, line, keys=keys)

    def _value(self, rest: str, current: _Line, indent: int) -> Node:
        anchor = re.match(r"&(\S+)\s*", rest)
        if anchor:
            node = self._value(rest[anchor.end() :], current, indent)
            self._anchors[anchor[1]] = node
            return node
        if not rest or rest.startswith("#"):
            following = self._lines[self._at] if self._at < len(self._lines) else None
            if following and following.indent == indent and following.text.startswith("-"):
                return self._list(indent)
            return self._nested(indent + 1, current)
        return self._inline(rest, current, indent)

    def _nested(self, indent: int, current: _Line) -> Node:
        if self._at < len(self._lines) and self._lines[self._at].indent >= indent:
            return self.block(indent)
        return Node(None, current.number)

    def _inline(self, text: str, current: _Line, indent: int) -> Node:
        block = _BLOCK.match(text)
        if block:
            return self._block_scalar(block[1], block[2], current, indent)
        if text[0] in "{[":
            return self._flow(text, current)
        if text[0] in "\"'":
            return self._quoted(text, current)
        if text.startswith("*"):
            name = _uncomment(text[1:])
            if name not in self._anchors:
                self._refuse(current, f"nothing above is named &{name}")
            return self._anchors[name]
        if text[0] in "!%@`":
            self._refuse(current, f"{text[0]} is YAML that this reader does not know")
        return self._plain_lines(text, current, indent)

    def _plain_lines(self, text: str, current: _Line, indent: int) -> Node:
        """A plain scalar goes on over deeper lines."""
        parts = [_uncomment(text)]
        while self._at < len(self._lines) and self._lines[self._at].indent > indent and parts[-1] == text:
            text = self._lines[self._at].text
            if _KEY.match(text):
                self._refuse(self._lines[self._at], "a key cannot stand inside the value above it")
            parts.append(_uncomment(text))
            self._at += 1
        return self._scalar(" ".join(parts), current)

    def _block_scalar(self, style: str, chomp: str, current: _Line, indent: int) -> Node:
        lines: list[str] = []
        number = current.number
        while number < len(self._raw):
            raw = self._raw[number]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            lines.append(raw)
            number += 1
        while self._at < len(self._lines) and self._lines[self._at].number <= number:
            self._at += 1
        while lines and not lines[-1].strip():
            lines.pop()
        width = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
        lines = [line[width:] for line in lines]
        # folding is left to whoever reads the words: it keeps the lines countable
        text = "\n".join(lines) + ("" if chomp == "-" or not lines else "\n")
        return Node(text if style == "|" else _fold(text), current.number + 1, quoted=True)

    def _quoted(self, text: str, current: _Line) -> Node:
        while not re.match(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$""", text):
            if self._at >= len(self._lines):
                self._refuse(current, "a quote is never closed")
            text += " " + self._lines[self._at].text
            self._at += 1
        match = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')""", text)
        assert match is not None
        return self._scalar(match[1], current)

    def _flow(self, text: str, current: _Line) -> Node:
        flow = _Flow(text, current.number)
        while True:
            try:
                return flow.parse()
            except _NeedsMoreError:
                if self._at >= len(self._lines):
                    self._refuse(current, f"{text[0]} is never closed")
                flow = _Flow(flow.text + " " + self._lines[self._at].text, current.number)
                self._at += 1

    def _scalar(self, text: str, current: _Line) -> Node:
        if text[:1] in ('"', "'"):
            return Node(_unquote(text, current.number), current.number, quoted=True)
        return Node(resolve(_uncomment(text)), current.number)

    def _refuse(self, line: _Line, why: str) -> None:
        raise KvtiersError(f"line {line.number}: {why}")


class _NeedsMoreError(Exception):
    """The flow collection goes on in the next line."""


class _Flow:
    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self._line = line
        self._at = 0

    def parse(self) -> Node:
        node = self._node()
        rest = self.text[self._at :].strip()
        if rest and not rest.startswith("#"):
            raise KvtiersError(f"line {self._line}: after the closing bracket stands {rest[:1]!r}")
        return node

    def _node(self) -> Node:
        opening = self._peek()
        if opening == "{":
            return self._collection("}")
        if opening == "[":
            return self._collection("]")
        return self._scalar(",]}")

    def _collection(self, closing: str) -> Node:
        self._at += 1
        entries: dict[str, Node] = {}
        items: list[Node] = []
        while self._peek() != closing:
            if closing == "]":
                items.append(self._node())
            else:
                key = str(self._scalar(":,}").value)
                if self._peek() == ":":
                    self._at += 1
                    entries[key] = Node(None, self._line) if self._peek() in ",}" else self._node()
                else:
                    entries[key] = Node(None, self._line)
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != closing:
                raise KvtiersError(f"line {self._line}: expected , or {closing} before {self._peek()!r}")
        self._at += 1
        keys = dict.fromkeys(entries, self._line)
        return Node(entries if closing == "}" else items, self._line, keys=keys)

    def _scalar(self, ends: str) -> Node:
        quote = self._peek()
        if quote in "\"'":
            match = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')""").match(self.text, self._at)
            if not match:
                raise _NeedsMoreError
            self._at = match.end()
            return Node(_unquote(match[1], self._line), self._line, quoted=True)
        start = self._at
        while self._at < len(self.text) and not (
            self.text[self._at] in ends
            and (self.text[self._at] != ":" or self.text[self._at + 1 : self._at + 2] in " ,}")
        ):
            self._at += 1
        if self._at >= len(self.text):
            raise _NeedsMoreError
        return Node(resolve(self.text[start : self._at].strip()), self._line)

    def _peek(self) -> str:
        while self._at < len(self.text) and self.text[self._at].isspace():
            self._at += 1
        if self._at >= len(self.text):
            raise _NeedsMoreError
        return self.text[self._at]


def resolve(text: str) -> Any:
    """A plain scalar's value, by PyYAML's YAML 1.1 rules."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in _BOOLEANS and text in (text.lower(), text.upper(), text.capitalize()):
        return _BOOLEANS[text.lower()]
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(f"{infinite[1]}inf")
    return float("nan") if text in (".nan", ".NaN", ".NAN") else text


def _integer(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    return sign * int(digits, 8 if digits.startswith("0") and digits != "0" else 10)


def _uncomment(text: str) -> str:
    return re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _unquote(text: str, line: int) -> str:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        return str(json.loads(text))
    except ValueError:
        raise KvtiersError(f"line {line}: an escape in this double-quoted text is not one JSON knows") from None


def _fold(text: str) -> str:
    """Single newlines are blanks in a folded scalar. A blank is one character too, so lines are lost, not words."""
    return re.sub(r"(?<=[^\n])\n(?=[^\n ])", " ", text)
