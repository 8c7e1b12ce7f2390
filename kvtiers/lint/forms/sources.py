"""What people paste or keep in files, read into one deployment, each text by its kind.

What refers to others (scripts, manifests, units) goes first: what is left over then stands for itself.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.inputs import Inputs, env_file
from kvtiers.lint.command.scripts import read_script
from kvtiers.lint.command.shell import parse
from kvtiers.lint.forms.dockerfile import read_dockerfile
from kvtiers.lint.forms.systemd import read_unit
from kvtiers.lint.forms.yaml_files import note_config_maps, read_yaml
from kvtiers.lint.given import Given, Source, is_part
from kvtiers.tables import read_table

_VARIABLE = re.compile(r"[A-Za-z_]\w*=\S*|[A-Za-z_]\w*=(?:['\"{]).*")
_REFERS = re.compile(r"^(?:services|apiVersion|servingEngineSpec):", re.MULTILINE)


class _PlacedError(KvtiersError):
    """Names its source already: a file that a script writes is one of its own."""


def read_sources(sources: Sequence[Source]) -> Given:
    """All inputs as one deployment.

    Raises:
        KvtiersError: ``NAME, line N: …`` for what cannot be read.
    """
    given, inputs = Given(), Inputs()
    kinds = {source.name: kind_of(source) for source in sources}
    for source in sources:
        inputs.add(source)
    for source in sources:
        if kinds[source.name] == "yaml":
            with _placed(source):
                note_config_maps(source, inputs)
    for source in sorted(sources, key=lambda source: _refers_to_none(source, kinds[source.name])):
        if source.name not in inputs.used:
            _read(source, kinds[source.name], Caller(source.name, inputs, given))
    for source, line in list(inputs.texts.values()):
        if source.name not in kinds and source.name not in inputs.used:
            _read_part(source, line, Caller(source.name, inputs, given))
    listed = {name for name, _ in given.read}
    given.read += [(source.name, kinds[source.name]) for source in sources if source.name not in listed]
    return given


def _refers_to_none(source: Source, kind: str) -> bool:
    """Are they variables, or YAML that others may name: settings, no manifest?"""
    return kind == "env" or (kind == "yaml" and not _REFERS.search(source.text))


def _read_part(source: Source, line: int, caller: Caller) -> None:
    """A file that a here-document writes, or a ConfigMap holds, which may be about anything."""
    try:
        _read(source, kind_of(source), caller, line)
    except KvtiersError as error:
        if source.name not in caller.inputs.of_maps:
            raise
        caller.given.skipped.append((source.name, str(error)))


def _read(source: Source, kind: str, caller: Caller, first_line: int = 1) -> None:
    with _placed(source, first_line):
        if not read_table("lint/forms/kinds.toml")[kind].get("read"):
            line = next((number for number, line in _said(source.text)), 1)
            raise KvtiersError(f"line {line}: {kind} is not read: give the vLLM command and its variables")
        match kind:
            case "env":
                caller.given.environment |= env_file(source, first_line)
            case "yaml":
                kind = read_yaml(source, first_line, caller)
            case "dockerfile":
                read_dockerfile(source.text, first_line, caller)
            case "systemd":
                read_unit(source.text, first_line, caller)
            case _:
                if is_part(source.name):  # written by another, and run by who knows whom
                    caller.not_seen("caller", source.name, first_line)
                read_script(parse(source.text, first_line), caller)
        caller.given.read.append((source.name, kind))


@contextmanager
def _placed(source: Source, first_line: int = 1) -> Iterator[None]:
    """What goes wrong names its text."""
    try:
        yield
    except _PlacedError:
        raise
    except KvtiersError as error:
        raise _PlacedError(f"{source.name}, {error}") from None
    except RecursionError:
        raise _PlacedError(f"{source.name}, line {first_line}: what begins there is nested too deeply") from None


def kind_of(source: Source) -> str:
    """By its name's ending; else by how it begins."""
    name, kinds = source.name.lower().rstrip(")"), read_table("lint/forms/kinds.toml")
    for kind, entry in kinds.items():
        if name.endswith(tuple(entry["endings"])):
            return kind
    lines = [line for _, line in _said(source.text) if line != "---"]
    if lines and all(_VARIABLE.fullmatch(line) for line in lines):
        return "env"
    first = lines[0] if lines else ""
    return next(kind for kind, entry in kinds.items() if "begins" in entry and re.match(entry["begins"], first))


def _said(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers: neither empty nor a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.strip().startswith("#"):
            yield number, line.strip()
