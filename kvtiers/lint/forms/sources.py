"""What people paste or keep in files, read into one deployment, each text by its kind.

What refers to others (scripts, manifests, units) goes first: what is left over then stands for itself.
"""

import re
from collections.abc import Callable, Sequence

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.inputs import Inputs, all_texts, env_file
from kvtiers.lint.command.scripts import Caller, read_script
from kvtiers.lint.command.shell import parse
from kvtiers.lint.forms.dockerfile import read_dockerfile
from kvtiers.lint.forms.systemd import read_unit
from kvtiers.lint.forms.yaml_files import note_config_maps, read_yaml
from kvtiers.lint.given import Given, Source, Unseen, is_part

_ENDINGS = {
    "yaml": (".yaml", ".yml", ".json"),
    "env": (".env",),
    "shell": (".sh", ".bash"),
    "systemd": (".service",),
    "dockerfile": ("dockerfile", "containerfile"),
    "Python": (".py", ".ipynb"),
    "Markdown": (".md", ".rst"),
    "HCL": (".hcl", ".tf", ".nomad"),
    "a Makefile": ("makefile", ".mk", "justfile"),
    "TOML": (".toml",),
    "Nix": (".nix",),
    "PowerShell": (".ps1", ".bat", ".cmd"),
    "a template": (".j2", ".tpl", ".tmpl", ".jsonnet"),
}
_BEGINNINGS = {
    "dockerfile": re.compile(r"(?:FROM|ARG) \S+"),
    "systemd": re.compile(r"\[(?:Unit|Service|Install)\]"),
    "Python": re.compile(r"(?:from [\w.]+ import|import [\w.]+)\b"),
    "HCL": re.compile(r"(?:job|resource|variable|module|provider|locals|terraform)\b[^=]*\{"),
    "Markdown": re.compile(r"```"),
    "yaml": re.compile(r"\{|[A-Za-z_][\w.-]*:(?:\s|$)"),
}
_READ = ("env", "yaml", "dockerfile", "systemd", "shell")
_LINE = re.compile(r"[A-Za-z_]\w*=\S*|[A-Za-z_]\w*=(?:['\"{]).*")


class _PlacedError(KvtiersError):
    """Names its source already: a file that a script writes is one of its own."""


def read_sources(sources: Sequence[Source]) -> Given:
    """All inputs as one deployment.

    Raises:
        KvtiersError: ``NAME, line N: …`` for what cannot be read.
    """
    given, inputs = Given(), all_texts(sources)
    kinds = {source.name: kind_of(source) for source in sources}
    for source in sources:
        if kinds[source.name] == "yaml":
            _placed(source, 1, lambda source, _: note_config_maps(source, inputs))
    later = [source for source in sources if kinds[source.name] == "env" or _refers_to_none(source, kinds[source.name])]
    for source in [*(source for source in sources if source not in later), *later]:
        if source.name not in inputs.used:
            _read(source, kinds[source.name], inputs, given, 1)
    for source, line in list(inputs.texts.values()):
        if source.name not in kinds and source.name not in inputs.used:
            _read_part(source, line, inputs, given)
    listed = {name for name, _ in given.read}
    given.read += [(source.name, kinds[source.name]) for source in sources if source.name not in listed]
    return given


def _refers_to_none(source: Source, kind: str) -> bool:
    """Is it YAML that others may name: settings, no manifest?"""
    return kind == "yaml" and not re.search(r"^(?:services|apiVersion|servingEngineSpec):", source.text, re.MULTILINE)


def _read_part(source: Source, line: int, inputs: Inputs, given: Given) -> None:
    """A file that a here-document writes, or a ConfigMap holds, which may be about anything."""
    try:
        _read(source, kind_of(source), inputs, given, line)
    except KvtiersError as error:
        if source.name not in inputs.of_maps:
            raise
        given.skipped.append((source.name, str(error)))


def _read(source: Source, kind: str, inputs: Inputs, given: Given, first_line: int) -> None:
    def read(source: Source, first_line: int) -> None:
        read_as = kind
        match kind:
            case "env":
                given.environment |= env_file(source, first_line)
            case "yaml":
                read_as = read_yaml(source, inputs, given, first_line)
            case "dockerfile":
                read_dockerfile(source, inputs, given, first_line)
            case "systemd":
                read_unit(source, inputs, given, first_line)
            case _ if kind not in _READ:
                line = _first_line(source.text)
                raise KvtiersError(f"line {line}: {kind} is not read: give the vLLM command and its variables")
            case _:
                caller = Caller(source.name, inputs, given)
                if is_part(source.name):  # written by another, and run by who knows whom
                    caller.unseen.append(Unseen("caller", source.name, source.name, first_line))
                read_script(parse(source.text, first_line), caller)
        given.read.append((source.name, read_as))

    _placed(source, first_line, read)


def _placed(source: Source, first_line: int, read: Callable[[Source, int], None]) -> None:
    """What goes wrong names its text."""
    try:
        read(source, first_line)
    except _PlacedError:
        raise
    except KvtiersError as error:
        raise _PlacedError(f"{source.name}, {error}") from None
    except RecursionError:
        raise _PlacedError(f"{source.name}, line {first_line}: what begins there is nested too deeply") from None


def kind_of(source: Source) -> str:
    """By its name's ending; else by how it begins."""
    name = source.name.lower().rstrip(")")
    for kind, endings in _ENDINGS.items():
        if name.endswith(endings):
            return kind
    lines = [line.strip() for line in source.text.splitlines()]
    lines = [line for line in lines if line and line != "---" and not line.startswith("#")]
    if lines and all(_LINE.fullmatch(line) for line in lines):
        return "env"
    first = lines[0] if lines else ""
    return next((kind for kind, begins in _BEGINNINGS.items() if begins.match(first)), "shell")


def _first_line(text: str) -> int:
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if line.strip() and not line.startswith("#")), 1)
