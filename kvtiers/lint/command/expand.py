"""A word with what is known of its variables and arrays filled in, as the shell does it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kvtiers.lint.command.shell import Part, Word

_REFERENCE = re.compile(
    r"\$(?:\{(?P<name>\w+|[@*])(?P<all>\[[@*]\])?(?:(?P<operator>:?[-=+?])(?P<other>.*))?\}|(?P<plain>\w+|[@*#?!-]))",
    re.DOTALL,
)
_DOCUMENT = re.compile(r"\$\(\s*cat\s*<<-?\s*(['\"]?)(\w+)\1\s*?\n(.*?)\n\s*\2\s*\)", re.DOTALL)
KUBERNETES = re.compile(r"(?P<dollar>\$\$)|\$\((?P<name>\w+)\)")
COMPOSE = re.compile(r"(?P<dollar>\$\$)|\$(?:\{(?P<name>\w+)(?::?[+?][^}]*|:?-(?P<default>[^}]*))?\}|(?P<plain>\w+))")


@dataclass
class Scope:
    """What variables and arrays hold where a command stands; of a variable that is set to something unknown, None.

    ``referenced``: names of variables that were asked for.
    """

    variables: dict[str, str | None] = field(default_factory=dict)
    arrays: dict[str, list[Word]] = field(default_factory=dict)
    referenced: set[str] = field(default_factory=set)


@dataclass
class _Field:
    text: str = ""
    literal: bool = True
    begun: bool = False
    open: bool = False

    def add(self, text: str, literal: bool = True, open_: bool = False) -> None:
        self.text, self.literal, self.begun = self.text + text, self.literal and literal, True
        self.open = self.open or open_


def expand(word: Word, scope: Scope) -> list[Word]:
    """The words that one becomes: none, one or several. Unknown is left as written, ``literal`` then False."""
    if not word.parts:
        return [word]
    fields = [_Field()]
    for part in word.parts:
        if part.expands:
            _expand_part(part, scope, fields)
        else:
            fields[-1].add(part.text)
    whole = len(word.parts) == 1 or all(part.expands or not part.text for part in word.parts)
    return [Word(one.text, word.line, one.literal, open=one.open and whole) for one in fields if one.begun]


def expand_value(word: Word, scope: Scope) -> Word:
    """As in an assignment, where nothing falls into several words."""
    whole = replace(word, parts=tuple(replace(part, splits=False) for part in word.parts))
    return next(iter(expand(whole, scope)), Word("", word.line))


def _expand_part(part: Part, scope: Scope, fields: list[_Field]) -> None:
    match = _REFERENCE.fullmatch(part.text)
    if match and (match["all"] or (match["plain"] or match["name"]) in ("@", "*")):
        unknown = [Word(part.text, 0, literal=False, open=True)]
        for number, item in enumerate(scope.arrays.get(match["name"] or "", unknown)):
            if number:
                fields.append(_Field())
            fields[-1].add(item.text, item.literal, item.open)
        return
    value = _value(match, scope) if match else _document(part.text, scope)
    if value is None:
        fields[-1].add(part.text, literal=False, open_=part.splits)
    elif not part.splits:
        fields[-1].add(value)
    else:
        for number, piece in enumerate(value.split()):
            if number or value[:1].isspace():
                fields.append(_Field())
            fields[-1].add(piece)


def _document(text: str, scope: Scope) -> str | None:
    """What ``$(cat <<EOF …)`` gives, where all of it is known."""
    document = _DOCUMENT.fullmatch(text)
    if document is None or document[1]:
        return document and document[3]
    filled = here_document(document[3], scope)
    return None if "$" in filled or "`" in filled else filled


def _value(match: re.Match[str], scope: Scope) -> str | None:
    """None: unknown."""
    name, operator, other = match["plain"] or match["name"], match["operator"] or "", match["other"] or ""
    scope.referenced.add(name)
    unset = name not in scope.variables
    value = scope.variables.get(name)
    if operator[-1:] in ("-", "=") and (unset or value == ""):
        inner = _REFERENCE.fullmatch(other)
        # ${MORE:-} is how one asks for what may well be set elsewhere
        value = _value(inner, scope) if inner else None if "$" in other or not other else other
        if operator[-1:] == "=":
            scope.variables[name] = value
    elif operator[-1:] == "+" and not unset and value:
        value = other
    return value


def here_document(text: str, scope: Scope) -> str:
    """A text whose delimiter is not quoted, with what is known filled in."""

    def resolved(match: re.Match[str]) -> str:
        reference = None if match[1] else _REFERENCE.fullmatch(match[0])
        value = _value(reference, scope) if reference else None
        return match[1].strip("\n") if match[1] else match[0] if value is None else value

    return re.sub(r"\\([\\$`\n])|\$(?:\{[^}]*\}|\w+)", resolved, text)


def fill(text: str, form: re.Pattern[str], variables: Mapping[str, str | None]) -> tuple[str, bool]:
    """Where no shell does it, but KUBERNETES or COMPOSE; and whether all that it asks for is known."""
    known = True

    def resolved(match: re.Match[str]) -> str:
        nonlocal known
        found = match.groupdict()
        if found["dollar"]:
            return "$"
        value, default = variables.get(found["name"] or found["plain"]), found.get("default")
        if not value and default is not None and "$" not in default:
            return default
        known = known and value is not None
        return match[0] if value is None else value

    return form.sub(resolved, text), known
