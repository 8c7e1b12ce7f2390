"""A word with what is known of its variables and arrays filled in, as the shell does it."""

import re
from collections.abc import Mapping
from dataclasses import replace

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.shell import Fragment, Word
from kvtiers.lint.given import Value

_REFERENCE = re.compile(
    r"\$(?:\{(?P<name>\w+|[@*])(?P<all>\[[@*]\])?(?:(?P<operator>:?[-=+?])(?P<other>.*))?\}|(?P<plain>\w+|[@*#?!-]))",
    re.DOTALL,
)
_DOCUMENT = re.compile(r"\$\(\s*cat\s*<<-?\s*(['\"]?)(\w+)\1\s*?\n(.*?)\n\s*\2\s*\)", re.DOTALL)
KUBERNETES = re.compile(r"(?P<dollar>\$\$)|\$\((?P<name>\w+)\)")
COMPOSE = re.compile(r"(?P<dollar>\$\$)|\$(?:\{(?P<name>\w+)(?::?[+?][^}]*|:?-(?P<default>[^}]*))?\}|(?P<plain>\w+))")


def expand(word: Word, caller: Caller) -> list[Word]:
    """The words that one becomes: none, one or several. Unknown is left as written, ``literal`` then False."""
    if not word.parts:
        return [word]
    fields: list[list[Word]] = [[]]
    for part in word.parts:
        for piece in _pieces(part, caller) if part.expands else [Word(part.text, word.line)]:
            if piece is None:
                fields.append([])
            else:
                fields[-1].append(piece)
    whole = len(word.parts) == 1 or all(part.expands or not part.text for part in word.parts)
    return [_joined(pieces, word.line, whole) for pieces in fields if pieces]


def _joined(pieces: list[Word], line: int, whole: bool) -> Word:
    literal, open_ = all(one.literal for one in pieces), any(one.open for one in pieces)
    return Word("".join(one.text for one in pieces), line, literal, open=whole and open_)


def expand_value(word: Word, caller: Caller) -> Word:
    """As in an assignment, where nothing falls into several words."""
    whole = replace(word, parts=tuple(replace(part, splits=False) for part in word.parts))
    return next(iter(expand(whole, caller)), Word("", word.line))


def _pieces(part: Fragment, caller: Caller) -> list[Word | None]:
    """What it is filled in with; None where a new word begins."""
    match = _REFERENCE.fullmatch(part.text)
    if match and (match["all"] or (match["plain"] or match["name"]) in ("@", "*")):
        value, words = "", caller.arrays.get(match["name"] or "", [Word(part.text, 0, literal=False, open=True)])
    else:
        found = _value(match, caller) if match else _document(part.text, caller)
        if found is None:
            return [Word(part.text, 0, literal=False, open=part.splits)]
        value, words = found, [Word(text, 0) for text in (found.split() if part.splits else [found])]
    begins = part.splits and value[:1].isspace()
    return [one for word in words for one in (None, word)][not begins :]


def _document(text: str, caller: Caller) -> str | None:
    """What ``$(cat <<EOF …)`` gives, where all of it is known."""
    document = _DOCUMENT.fullmatch(text)
    if document is None or document[1]:
        return document and document[3]
    filled = here_document(document[3], caller)
    return None if "$" in filled or "`" in filled else filled


def _value(match: re.Match[str], caller: Caller) -> str | None:
    """None: unknown."""
    name, operator, other = match["plain"] or match["name"], match["operator"] or "", match["other"] or ""
    caller.referenced.add(name)
    held = caller.variable(name)
    value = held.text if held else None
    if operator[-1:] in ("-", "=") and (held is None or value == ""):
        inner = _REFERENCE.fullmatch(other)
        # ${MORE:-} is how one asks for what may well be set elsewhere
        value = _value(inner, caller) if inner else None if "$" in other or not other else other
        if operator[-1:] == "=":
            caller.assign(name, caller.value(value or "", 0, value is not None))
    elif operator[-1:] == "+" and value:
        value = other
    return value


def here_document(text: str, caller: Caller) -> str:
    """A text whose delimiter is not quoted, with what is known filled in."""

    def resolved(match: re.Match[str]) -> str:
        reference = None if match[1] else _REFERENCE.fullmatch(match[0])
        value = _value(reference, caller) if reference else None
        return match[1].strip("\n") if match[1] else match[0] if value is None else value

    return re.sub(r"\\([\\$`\n])|\$(?:\{[^}]*\}|\w+)", resolved, text)


def fill(text: str, line: int, form: re.Pattern[str], variables: Mapping[str, Value]) -> Word:
    """Where no shell does it, but KUBERNETES or COMPOSE. ``literal``: all that it asks for is known."""
    known = True

    def resolved(match: re.Match[str]) -> str:
        nonlocal known
        found = match.groupdict()
        if found["dollar"]:
            return "$"
        held, default = variables.get(found["name"] or found["plain"]), found.get("default")
        value = held.text if held else None
        if not value and default is not None and "$" not in default:
            return default
        known = known and value is not None
        return match[0] if value is None else value

    filled = form.sub(resolved, text)
    return Word(filled, line, known)
