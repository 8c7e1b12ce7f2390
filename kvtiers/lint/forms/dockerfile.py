"""A Dockerfile: ENV, ENTRYPOINT and CMD of its last stage, on the image that it starts from."""

import re

from kvtiers.json_text import read_json
from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.expand import expand_value
from kvtiers.lint.command.programs import is_server
from kvtiers.lint.command.scripts import run_command
from kvtiers.lint.command.shell import Word, words_in
from kvtiers.lint.given import Source, Unseen, Value

# with the lines that continue it, and comments between them
_INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+((?:.*\\[ \t]*\n(?:[ \t]*#.*\n)*)*.*)", re.MULTILINE)


def read_dockerfile(source: Source, caller: Caller) -> None:
    """Add the server that the image runs; without one, its variables."""
    entrypoint, command = read_image(source, caller)
    caller.image_serves = caller.image_serves and not entrypoint and bool(command)
    started = run_command([*entrypoint, *command], caller)
    for process in started if not command else ():  # docker run adds its arguments
        process.unseen.append(Unseen("arguments", "docker run …", process.source, process.line))
    if not started:
        caller.hand_over()


def read_image(source: Source, caller: Caller) -> tuple[list[Word], list[Word]]:
    """The image's own ENTRYPOINT and CMD; ``caller`` gets its variables and versions, and whether it serves."""
    entrypoint: list[Word] = []
    command: list[Word] = []
    for name, rest, line in source.entries(_INSTRUCTION):
        caller.note_versions(rest, line)
        match name.upper():
            case "FROM":
                caller.image_serves = is_server(rest.split(" ")[0])
                entrypoint, command, caller.environment = [], [], {}
            case "ENV":
                for variable, value in dict(_variables(rest, line, caller)).items():
                    if f"${variable}" not in source.text and f"${{{variable}" not in source.text:  # its own
                        caller.environment[variable] = value
            case "ENTRYPOINT":
                entrypoint, command = _words(rest, line), []
            case "CMD":
                command = _words(rest, line)
    return entrypoint, command


def _variables(rest: str, line: int, caller: Caller) -> list[tuple[str, Value]]:
    words = words_in(rest, line)
    if words and "=" not in words[0].text:  # ENV NAME value
        name, _, value = rest.partition(" ")
        return [(name, caller.value(value.strip(), line, "$" not in value))]
    whole = [(one.text.partition("="), one) for one in (expand_value(word, caller) for word in words)]
    return [(name, caller.value(text, one.line, one.literal)) for (name, _, text), one in whole]


def _words(rest: str, line: int) -> list[Word]:
    """``["a", "b"]`` as it stands; anything else is a script for a shell."""
    try:
        listed = read_json(rest.replace("\\\n", " "))
    except ValueError:
        listed = None
    return [Word(str(item), line) for item in (listed if isinstance(listed, list) else ["sh", "-c", rest])]
