"""A systemd unit: Environment=, EnvironmentFile= and ExecStart= of its service; Podman's Quadlet, as what it runs."""

import re
from collections.abc import Iterable

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.docker import docker_size
from kvtiers.lint.command.expand import expand
from kvtiers.lint.command.scripts import run_command
from kvtiers.lint.command.shell import Word, words_in
from kvtiers.lint.given import Container, Source

# with the lines that continue it, and comments between them
_ENTRY = re.compile(r"^[ \t]*(\w+)[ \t]*=((?:.*\\\n(?:[ \t]*[#;].*\n)*)*.*)", re.MULTILINE)
# Quadlet's entries, as options of podman run
_OPTIONS = {
    "Environment": "--env",
    "EnvironmentFile": "--env-file",
    "PublishPort": "--publish",
    "Volume": "--volume",
    "Mount": "--mount",
    "Tmpfs": "--tmpfs",
    "ShmSize": "--shm-size",
    "Memory": "--memory",
    "Network": "--network",
    "Entrypoint": "--entrypoint",
}


def read_unit(source: Source, caller: Caller) -> None:
    """Add the server that a unit starts."""
    entries = [*source.entries(_ENTRY)]
    if "Image" in [name for name, _, _ in entries]:
        run_command(_podman_run(entries), caller)
        return
    starts = []
    for name, value, line in entries:
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


def _podman_run(entries: Iterable[tuple[str, str, int]]) -> list[Word]:
    options, image, command = [Word("podman", 0), Word("run", 0)], [], []
    for name, value, line in entries:
        words = words_in(value, line)
        if name in _OPTIONS:
            options += [one for word in words for one in (Word(_OPTIONS[name], line), word)]
        elif name == "PodmanArgs":
            options += words
        elif name == "Image":
            image = words
        elif name == "Exec":
            command = words
    return [*options, *image, *command]
