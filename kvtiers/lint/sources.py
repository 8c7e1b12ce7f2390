"""What people paste, read into one shape, each text by its kind.

Kinds: a shell script or command, an .env file, docker-compose, a Kubernetes object, lmcache.yaml. A here-document that
writes one of these is read as such.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from kvtiers.errors import KvtiersError
from kvtiers.lint.given import Given, Source, Value
from kvtiers.lint.scripts import read_script
from kvtiers.lint.shell import Command, parse
from kvtiers.lint.yaml_files import read_yaml

_NOT_SHELL = {
    "a Dockerfile": re.compile(r"(?:FROM|ARG) \S+"),
    "a systemd unit": re.compile(r"\[(?:Unit|Service|Install)\]"),
    "Python": re.compile(r"(?:from [\w.]+ import|import [\w.]+)\b"),
}
_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


class _PlacedError(KvtiersError):
    """Names its source already: a file that a script writes is one of its own."""


def read_sources(sources: Sequence[Source]) -> Given:
    """All inputs as one deployment.

    Raises:
        KvtiersError: ``NAME, line N: …`` for what cannot be read.
    """
    given = Given()
    for source in sources:
        _read(source, given)
    return given


def _read(source: Source, given: Given, first_line: int = 1) -> None:
    try:
        match _kind(source):
            case "env":
                given.environment |= _env_file(source, first_line)
            case "yaml":
                read_yaml(source, given, first_line)
            case _:
                _refuse_other_kinds(source)
                commands = parse(source.text, first_line)
                for document, line in _written(source, commands):
                    _read(document, given, line)
                read_script(commands, source.name, given)
    except _PlacedError:
        raise
    except KvtiersError as error:
        raise _PlacedError(f"{source.name}, {error}") from None
    except RecursionError:
        raise _PlacedError(f"{source.name}, line {first_line}: what begins there is nested too deeply") from None


def _kind(source: Source) -> str:
    name = source.name.lower()
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    if name.endswith(".env") or name == ".env":
        return "env"
    if name.endswith((".sh", ".bash")):
        return "shell"
    lines = [line.strip() for line in source.text.splitlines()]
    lines = [line for line in lines if line and line != "---" and not line.startswith("#")]
    if lines and all(re.fullmatch(r"[A-Za-z_]\w*=\S*|[A-Za-z_]\w*=(['\"{]).*", line) for line in lines):
        return "env"
    first = lines[0] if lines else ""
    return "yaml" if re.match(r"[A-Za-z_][\w.-]*:(\s|$)", first) else "shell"


def _env_file(source: Source, first_line: int) -> dict[str, Value]:
    variables = {}
    for number, line in enumerate(source.text.splitlines(), start=first_line):
        match = _ENV_LINE.match(line)
        if match:
            value = match[2].strip()
            if value[:1] in "\"'" and value[-1:] == value[:1] and len(value) > 1:
                value = value[1:-1]
            elif value[:1] not in "\"'{[":
                value = re.split(r"\s#", value, maxsplit=1)[0].strip()
            variables[match[1]] = Value(value, source.name, number, "$" not in value)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise KvtiersError(f"line {number}: not NAME=value")
    return variables


def _written(source: Source, commands: Iterable[Command]) -> Iterator[tuple[Source, int]]:
    """Files that a script writes from here-documents, with the line where each begins."""
    for command in commands:
        for document in command.documents:
            target = next((word.text for word in command.redirects), "")
            if target.endswith((".yaml", ".yml", ".env")) and "$" not in document.text:
                yield Source(f"{source.name} ({target})", document.text), document.line


def _refuse_other_kinds(source: Source) -> None:
    """What the shell's rules would misread in silence."""
    for number, line in enumerate(source.text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            kind = next((kind for kind, start in _NOT_SHELL.items() if start.match(line)), None)
            if kind:
                raise KvtiersError(f"line {number}: {kind} is not read: give the vLLM command and its variables")
            return
