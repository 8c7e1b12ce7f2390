"""A systemd unit: Environment=, EnvironmentFile= and ExecStart= of its service."""

import re

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.docker import docker_size
from kvtiers.lint.command.expand import expand
from kvtiers.lint.command.scripts import run_command
from kvtiers.lint.command.shell import words_in
from kvtiers.lint.given import Container, Source

# with the lines that continue it, and comments between them
_ENTRY = re.compile(r"^[ \t]*(\w+)[ \t]*=((?:.*\\\n(?:[ \t]*[#;].*\n)*)*.*)", re.MULTILINE)


def read_unit(source: Source, caller: Caller) -> None:
    """Add the server that a unit starts."""
    starts = []
    for name, value, line in source.entries(_ENTRY):
        match name:
            case "Environment":
                for word in words_in(value, line):
                    variable, _, written = word.text.partition("=")
                    caller.environment[variable] = caller.value(written, word.line, word.literal)
            case "EnvironmentFile":
                caller.read_variables(value.lstrip("-"), line)
            case "ExecStart":
                starts.append(words_in(value.lstrip("@-:+!"), line))
            case "MemoryMax":
                memory = docker_size(caller, value, line)
                host = Container(caller.source, memory, host_network=True, host_ipc=True)
                caller.container = host if memory else None
    commands = [[one for word in words for one in expand(word, caller)] for words in starts]
    if not [process for words in commands for process in run_command(words, caller)]:
        caller.hand_over()
