"""A systemd unit: Environment=, EnvironmentFile= and ExecStart= of its service."""

import re
from collections.abc import Iterator

from kvtiers.lint.command.expand import Scope, expand
from kvtiers.lint.command.inputs import Inputs, values_of
from kvtiers.lint.command.scripts import Caller, run_command
from kvtiers.lint.command.shell import parse
from kvtiers.lint.command.sizes import docker_gib
from kvtiers.lint.given import Container, Given, Source, Value


def read_unit(source: Source, inputs: Inputs, given: Given, first_line: int) -> None:
    """Add the server that a unit starts."""
    caller = Caller(source.name, inputs, given)
    starts: list[tuple[str, int]] = []
    for name, value, line in _entries(source.text, first_line):
        match name:
            case "Environment":
                for command in parse(value, line, newline_ends=False):
                    for word in command.words:
                        variable, _, text = word.text.partition("=")
                        caller.environment[variable] = Value(text, source.name, word.line, word.literal)
            case "EnvironmentFile":
                found, unseen = inputs.variables(value.lstrip("-"), Value(value, source.name, line))
                caller.environment |= found
                caller.unseen += unseen
            case "ExecStart":
                starts.append((value.lstrip("@-:+!"), line))
            case "MemoryMax":
                gib = docker_gib(value)
                if gib:
                    caller.container = Container(
                        f"{source.name}", Value(gib, source.name, line), host_network=True, host_ipc=True
                    )
    scope = Scope(values_of(caller.environment))
    for value, line in starts:
        for command in parse(value, line, newline_ends=False):
            run_command([one for word in command.words for one in expand(word, scope)], caller)
    if not caller.started:
        given.environment |= caller.environment


def _entries(text: str, first_line: int) -> Iterator[tuple[str, str, int]]:
    """Name, value with its continued lines, the line where it begins."""
    pending, begins = "", first_line
    for number, line in enumerate(text.splitlines(), start=first_line):
        if not pending and (line.lstrip()[:1] in ("#", ";", "[", "")):
            continue
        begins = begins if pending else number
        pending += line + "\n"
        if line.endswith("\\"):
            continue
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(.*)", pending.rstrip(), re.DOTALL)
        if match:
            yield match[1], match[2], begins
        pending = ""
