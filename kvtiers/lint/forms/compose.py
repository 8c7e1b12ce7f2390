"""A service of docker-compose: its image, command, variables, and what it runs in."""

from typing import Any

from kvtiers.lint.command.docker import mount_path
from kvtiers.lint.command.expand import Scope, compose
from kvtiers.lint.command.images import is_server, note_versions
from kvtiers.lint.command.inputs import Inputs, values_of
from kvtiers.lint.command.scripts import Caller, run_container
from kvtiers.lint.command.shell import Word, parse
from kvtiers.lint.command.sizes import docker_gib
from kvtiers.lint.given import Container, Given, Mount, Source, Value
from kvtiers.lint.yaml_nodes import Node


def read_service(source: Source, name: str, service: Node, inputs: Inputs, given: Given) -> None:
    """Add the server that a service runs."""
    fields = service.value
    caller = Caller(source.name, inputs, given, container=_container(source, name, service))
    _variables(fields.get("env_file"), fields.get("environment"), caller)
    image = fields.get("image")
    if image is not None:
        note_versions(_filled(image.value, inputs)[0], source.name, image.line, given, caller.versions)
    entrypoint = _words(fields.get("entrypoint"), inputs)
    words = [*entrypoint, *_words(fields.get("command"), inputs)]
    caller.image_serves = (
        image is not None and not entrypoint and bool(words) and is_server(_filled(image.value, inputs)[0])
    )
    caller.scope = Scope(values_of(caller.environment))
    run_container(words, caller, str(image.value) if image is not None else "", service.line)


def _filled(value: Any, inputs: Inputs) -> tuple[str, bool]:
    return compose(as_variable(value), inputs.dotenv)


def as_variable(value: Any) -> str:
    """Compose hands YAML's true over as the text true."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _words(node: Node | None, inputs: Inputs) -> list[Word]:
    """A text is split as a shell would, but no shell expands it."""
    if node is None or node.value is None:
        return []
    if isinstance(node.value, list):
        filled = [(_filled(item.value, inputs), item.line) for item in node.value]
        return [Word(text, line, known) for (text, known), line in filled]
    words = []
    for command in parse(str(node.value), node.line, newline_ends=False):
        for word in command.words:
            text, known = _filled(word.text, inputs)
            if not word.text.isspace():
                words.append(Word(text, word.line, known))
    return words


def _variables(files: Node | None, node: Node | None, caller: Caller) -> None:
    """What ``env_file`` names, then ``environment``, which wins."""
    entries = files.value if files is not None and isinstance(files.value, list) else [files] if files else []
    for entry in entries:
        named = entry.value.get("path") if isinstance(entry.value, dict) else entry
        if named is not None:
            place = Value(named.value, caller.source, named.line)
            found, unseen = caller.inputs.variables(_filled(named.value, caller.inputs)[0], place)
            caller.environment |= found
            caller.unseen += unseen
    if node is None:
        return
    if isinstance(node.value, dict):
        pairs = [(str(key), value.value, node.keys[key]) for key, value in node.value.items()]
    else:
        items = node.value if isinstance(node.value, list) else []
        pairs = [(*_pair(str(item.value)), item.line) for item in items]
    for name, value, line in pairs:
        text, known = _filled(value, caller.inputs)
        caller.environment[name] = Value(text, caller.source, line, known and value is not None)


def _pair(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _container(source: Source, name: str, service: Node) -> Container:
    fields = service.value
    container = Container(f"{source.name} {name}", mounts=[])
    assert container.mounts is not None
    limits = _at(service, "deploy", "resources", "limits", "memory")
    for size, to in ((fields.get("mem_limit") or limits, "memory"), (fields.get("shm_size"), "shm")):
        gib = docker_gib(size.value) if size else None
        if size and gib:
            setattr(container, to, Value(gib, source.name, size.line))
    ipc, network = _text(fields.get("ipc")), _text(fields.get("network_mode"))
    container.host_ipc, container.host_network = ipc == "host", network == "host"
    if ipc.startswith("service:"):
        container.group = f"{source.name} {ipc.removeprefix('service:')}"
    for port in _items(fields.get("ports")):
        container.published.append(_port(port))
    for volume in [*_items(fields.get("volumes")), *_items(fields.get("tmpfs"))]:
        if isinstance(volume, dict):
            container.mounts.append(Mount(str(volume.get("target", "")), memory=volume.get("type") == "tmpfs"))
        else:
            container.mounts.append(Mount(mount_path(str(volume))))
    return container


def _port(port: Any) -> str:
    if not isinstance(port, dict):
        return str(port)
    return ":".join(str(port[key]) for key in ("host_ip", "published", "target") if key in port)


def _at(node: Node, *path: str) -> Node | None:
    for key in path:
        inner = node.value.get(key) if isinstance(node.value, dict) else None
        if inner is None:
            return None
        node = inner
    return node


def _items(node: Node | None) -> list[Any]:
    plain = node.plain() if node is not None else None
    return plain if isinstance(plain, list) else [plain] if isinstance(plain, str) else []


def _text(node: Node | None) -> str:
    return str(node.value) if node is not None and node.value is not None else ""
