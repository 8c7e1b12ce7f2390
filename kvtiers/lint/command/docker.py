"""``docker run``, ``podman run``, ``nerdctl run``: options, image and what runs in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kvtiers.lint.command.inputs import Inputs
from kvtiers.lint.command.shell import Word
from kvtiers.lint.command.sizes import docker_gib
from kvtiers.lint.given import Container, Mount, Unseen, Value

_PROGRAMS = ("docker", "podman", "nerdctl")
_SWITCHES = re.compile(
    r"-[ditP]+$|--(?:rm|detach|interactive|tty|privileged|init|read-only|publish-all|oom-kill-disable|no-healthcheck"
    r"|replace|tls-verify|quiet|rmi|rootfs)(?:=.*)?$"
)
_SHORT = {"e": "env", "p": "publish", "v": "volume", "m": "memory", "w": "workdir", "h": "hostname", "u": "user"}


@dataclass
class Run:
    """A container that is started: ``arguments`` after the image; ``environment``, ``unseen`` of variables."""

    image: Word
    arguments: list[Word]
    entrypoint: Word | None
    container: Container
    environment: dict[str, Value] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    forwarded: list[Value] = field(default_factory=list)  # -e NAME: taken from whoever calls


def docker_run(words: Sequence[Word], source: str, inputs: Inputs) -> Run | None:
    """What a command starts; None where it is no ``docker run``."""
    texts = [word.text for word in words]
    if not texts or texts[0].rsplit("/", 1)[-1] not in _PROGRAMS:
        return None
    begin = next((index for index, text in enumerate(texts[:4]) if text in ("run", "create")), None)
    if begin is None:
        return None
    options: list[tuple[str, Word]] = []
    index = begin + 1
    while index < len(words) and texts[index].startswith("-"):
        index += 1
        if not _SWITCHES.match(texts[index - 1]):
            name, word, used_next = _option(words, index - 1)
            options.append((name, word))
            index += used_next
    if index >= len(words):
        return None
    entrypoint = next((word for name, word in options if name == "entrypoint"), None)
    run = Run(words[index], list(words[index + 1 :]), entrypoint, _container(options, source, words[0].line))
    for name, word in options:
        _variables(name, word, source, inputs, run)
    return run


def _option(words: Sequence[Word], index: int) -> tuple[str, Word, bool]:
    """Name, value, and whether the value was the next word."""
    word = words[index]
    name, equals, value = word.text.partition("=")
    if word.text.startswith("--"):
        if equals:
            return name[2:], Word(value, word.line, word.literal), False
        return name[2:], words[index + 1] if index + 1 < len(words) else word, True
    short, attached = word.text[1:2], word.text[2:]
    if attached:
        return _SHORT.get(short, short), Word(attached, word.line, word.literal), False
    return _SHORT.get(short, short), words[index + 1] if index + 1 < len(words) else word, True


def _container(options: Sequence[tuple[str, Word]], source: str, line: int) -> Container:
    container = Container(f"{source}:{line}", mounts=[])
    assert container.mounts is not None
    for name, word in options:
        text = word.text
        size = docker_gib(text) if word.literal else None
        if name == "memory" and size:
            container.memory = Value(size, source, word.line)
        elif name == "shm-size" and size:
            container.shm = Value(size, source, word.line)
        elif name == "ipc":
            container.host_ipc = text == "host"
            container.group = text.removeprefix("container:") if text.startswith("container:") else container.group
        elif name in ("network", "net"):
            container.host_network = text == "host"
        elif name == "publish":
            container.published.append(text)
        elif name in ("volume", "mount", "tmpfs"):
            container.mounts.append(Mount(mount_path(text), memory=name == "tmpfs"))
    return container


def mount_path(text: str) -> str:
    """Where a volume lies in the container: ``-v HOST:PATH:ro``, ``--mount type=…,target=PATH``, a path alone."""
    target = re.search(r"(?:target|dst|destination)=([^,]+)", text)
    parts = [part for part in text.split(":") if part not in ("ro", "rw", "z", "Z")]
    return target[1] if target else parts[min(1, len(parts) - 1)] if parts else ""


def _variables(name: str, word: Word, source: str, inputs: Inputs, run: Run) -> None:
    place = Value(word.text, source, word.line, word.literal)
    if name == "env-file":
        variables, unseen = inputs.variables(word.text, place)
        run.environment |= variables
        run.unseen += unseen
    elif name == "env":
        variable, equals, text = word.text.partition("=")
        if equals:
            run.environment[variable] = Value(text, source, word.line, word.literal)
        else:
            run.forwarded.append(place)


def forwarded(run: Run, environment: Mapping[str, Value]) -> Iterator[str]:
    """Pass on ``-e NAME``; what has no value here stays unset, and is named."""
    for place in run.forwarded:
        name = str(place.value)
        if name in environment:
            run.environment[name] = environment[name]
        else:
            yield name
