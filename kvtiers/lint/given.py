"""What is given: texts to check, and what they say of one deployment."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """A text to check and what to call it; the name's ending tells its kind where it has one.

    ``first_line``: of what it was taken from.
    """

    name: str
    text: str
    first_line: int = 1

    def entries(self, form: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
        """The two groups of ``form`` wherever it fits, a name and what is said of it, and the line."""
        text = self.text.replace("\r\n", "\n")
        for match in form.finditer(text):
            yield match[1], match[2].strip(), self.first_line + text.count("\n", 0, match.start(1))


@dataclass(frozen=True)
class Value:
    """A setting, variable or option as written. ``literal``: not filled in by something we cannot see."""

    value: Any
    source: str
    line: int
    literal: bool = True

    @property
    def text(self) -> str | None:
        """None where it can't be seen."""
        return str(self.value) if self.literal else None


@dataclass(frozen=True)
class Unseen:
    """Something that decides and was not given. ``kind``: of the words; ``name``: as it is written."""

    kind: str
    name: str
    source: str
    line: int


@dataclass
class Container:
    """What a process runs in. Sizes in GiB, None where not said; ``group``: whose IPC namespace and /dev/shm it has."""

    group: str
    memory: Value | None = None
    shm: Value | None = None
    host_network: bool = False
    host_ipc: bool = False
    published: Sequence[str] = ()
    volumes: dict[str, float | None] | None = None  # by their path, with their size; None: not to be seen

    def lacks(self, path: str) -> bool:
        """Does ``path`` lie in the container itself, which goes when it goes?"""
        return self.volumes is not None and path.startswith("/") and holder(path, self.volumes) is None


@dataclass
class Invocation:
    """A ``vllm serve`` or an ``lmcache server``.

    ``options``: by their name without dashes; ``unseen``: where more of them may stand. ``not_exported``: variables
    that the script sets and the process does not get. ``broken``: where its command ends too early, and by what.
    ``by_chart``: a Helm chart writes its connector.
    """

    source: str
    line: int
    options: dict[str, Value] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    environment: dict[str, Value] = field(default_factory=dict)
    environment_unseen: list[Unseen] = field(default_factory=list)
    not_exported: dict[str, Value] = field(default_factory=dict)
    versions: dict[str, Value] = field(default_factory=dict)
    container: Container | None = None
    broken: list[tuple[Value, str]] = field(default_factory=list)
    by_chart: bool = False

    @property
    def place(self) -> str:
        return f"{self.source}:{self.line}"

    def number(self, name: str) -> int | None:
        """An option that is a whole number; None where it can't be seen."""
        option = self.options.get(name)
        return int(option.value) if option and option.literal and str(option.value).isdecimal() else None


@dataclass
class Given:
    """Everything the inputs said."""

    servers: list[Invocation] = field(default_factory=list)
    lmcache_servers: list[Invocation] = field(default_factory=list)
    environment: dict[str, Value] = field(default_factory=dict)  # outside any server: .env files, exports alone
    files: dict[str, dict[str, Value]] = field(default_factory=dict)  # lmcache.yaml by its name
    versions: dict[str, Value] = field(default_factory=dict)
    platform: str = ""  # cpu, where vLLM's package or image says so
    read: list[tuple[str, str]] = field(default_factory=list)  # each text and its kind
    skipped: list[tuple[str, str]] = field(default_factory=list)  # each text not read, and why

    @property
    def silent(self) -> bool:
        """Did nothing in the inputs concern vLLM or LMCache?"""
        return not (self.servers or self.lmcache_servers or self.environment or self.files or self.versions)


def is_part(name: str) -> bool:
    """Is it a text inside another, such as ``serve.sh (lmcache.yaml)``, which a script writes?"""
    return name.endswith(")") and " (" in name


def file_of(name: str) -> str:
    """The file that is there: of a text inside another that other."""
    return file_of(name[: name.rindex(" (")]) if is_part(name) else name


def last_part(name: str) -> str:
    """A path's or a text's own name, without folders or what it is inside of."""
    inner = name[name.rindex(" (") + 2 : -1] if is_part(name) else name
    return inner.replace("\\", "/").rsplit("/", 1)[-1]


def holder(path: str, mounts: Iterable[str]) -> str | None:
    """The mount that holds ``path``: of those above it the nearest."""
    return max((one for one in mounts if (path + "/").startswith(one.rstrip("/") + "/")), key=len, default=None)
