"""A Dockerfile: ENV, ENTRYPOINT and CMD of its last stage, on the image that it starts from."""

import re
from collections.abc import Iterator

from kvtiers.json_text import read_json
from kvtiers.lint.command.expand import Scope, expand_value
from kvtiers.lint.command.images import is_server, note_versions
from kvtiers.lint.command.inputs import Inputs, values_of
from kvtiers.lint.command.scripts import Caller, run_command
from kvtiers.lint.command.shell import Word, parse
from kvtiers.lint.given import Given, Source, Unseen, Value

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)


def read_dockerfile(source: Source, inputs: Inputs, given: Given, first_line: int) -> None:
    """Add the server that the image runs; without one, its variables."""
    caller = Caller(source.name, inputs, given)
    entrypoint: list[Word] = []
    command: list[Word] = []
    serves = False
    for name, rest, line in _instructions(source.text, first_line):
        note_versions(rest, source.name, line, given, caller.versions)
        match name:
            case "FROM":
                serves = is_server(rest.split(" ")[0])
                entrypoint, command, caller.environment = [], [], {}
            case "ENV":
                variables = _variables(rest, line, caller)
                own = {name for name in variables if f"${name}" in source.text or f"${{{name}" in source.text}
                caller.environment |= {name: value for name, value in variables.items() if name not in own}
            case "ENTRYPOINT":
                entrypoint, command = _words(rest, line), []
            case "CMD":
                command = _words(rest, line)
    caller.image_serves = serves and not entrypoint and bool(command)
    before = len(caller.started)
    run_command([*entrypoint, *command], caller)
    for process in caller.started[before:]:
        if not command:  # docker run adds its arguments
            process.unseen.append(Unseen("arguments", "docker run …", source.name, process.line))
    if len(caller.started) == before:
        given.environment |= caller.environment
        given.versions |= caller.versions


def _instructions(text: str, first_line: int) -> Iterator[tuple[str, str, int]]:
    """Name in capitals, the rest with its continued lines, the line where it begins."""
    pending, begins = "", first_line
    for number, line in enumerate(text.splitlines(), start=first_line):
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        begins = begins if pending else number
        pending += line + "\n"
        if line.rstrip().endswith("\\"):
            continue
        match = _INSTRUCTION.fullmatch(pending.rstrip())
        if match:
            yield match[1].upper(), match[2], begins
        pending = ""


def _variables(rest: str, line: int, caller: Caller) -> dict[str, Value]:
    words = [word for command in parse(rest, line, newline_ends=False) for word in command.words]
    if words and "=" not in words[0].text:  # ENV NAME value
        name, _, value = rest.partition(" ")
        return {name: Value(value.strip(), caller.source, line, "$" not in value)}
    variables = {}
    for word in words:
        whole = expand_value(word, Scope(values_of(caller.environment)))
        name, _, text = whole.text.partition("=")
        variables[name] = Value(text, caller.source, word.line, whole.literal)
    return variables


def _words(rest: str, line: int) -> list[Word]:
    """``["a", "b"]`` as it stands; anything else is a script for a shell."""
    try:
        listed = read_json(rest.replace("\\\n", " "))
    except ValueError:
        listed = None
    if isinstance(listed, list):
        return [Word(str(item), line) for item in listed]
    return [Word("sh", line), Word("-c", line), Word(rest, line)]
