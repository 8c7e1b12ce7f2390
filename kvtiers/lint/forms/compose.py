"""A service of docker-compose: its image, command, variables, and what it runs in."""

from dataclasses import replace
from typing import Any

from kvtiers.lint.command.caller import Caller, placed
from kvtiers.lint.command.docker import docker_size, mount_path
from kvtiers.lint.command.expand import COMPOSE, fill
from kvtiers.lint.command.scripts import run_container
from kvtiers.lint.command.shell import Word, words_in
from kvtiers.lint.forms.dockerfile import read_image
from kvtiers.lint.given import Container, Source, Value
from kvtiers.lint.yaml_nodes import Node


def read_service(name: str, service: Node, services: Node, caller: Caller) -> None:
    """Add the server that a service runs, itself or by what it extends."""
    line, parts = service.line, _extended(service, services, caller)
    service = Node({key: node for part in parts for key, node in part.fields.items()}, line)
    for key in ("volumes", "tmpfs", "ports"):
        held = [part.at(key) for part in parts if part.at(key).value]
        service.value[key] = Node([item for node in held for item in node.items or [node]], line)
    caller.container = _container(name, service, caller)
    entrypoint, command = (_words(service.at(key), caller) for key in ("entrypoint", "command"))
    build = service.at("build")
    file = caller.inputs.find(build.at("dockerfile").text or "Dockerfile") if build.value is not None else None
    if file:
        built = replace(caller, source=file.name)
        with placed(file):
            own_entrypoint, own_command = read_image(file, built)
        caller.environment, caller.image_serves = built.environment, built.image_serves
        if not (entrypoint or command):
            caller.source, command = file.name, own_command
        entrypoint = entrypoint or own_entrypoint
    for part in parts:
        _variables(part, caller)
    image = _filled(service.at("image").text, service.at("image").line, caller)
    caller.note_versions(image.text, image.line)
    with placed(Source(caller.source, "")):
        run_container(caller, image.text or (file.name if file else name), line, entrypoint, command)


def _extended(service: Node, services: Node, caller: Caller) -> list[Node]:
    """It and the services it extends, the outermost first. Of another file's only the name is known."""
    extends = service.at("extends")
    if extends.value is None:
        return [service]
    of, file = extends.at("service").text if extends.fields else extends.text, extends.at("file").text
    if file or not services.at(of).fields:
        caller.not_seen("extends", f"{of} ({file})" if file else of, extends.line)
        return [service]
    return [*_extended(services.at(of), services, caller), service]


def _filled(text: str, line: int, caller: Caller) -> Word:
    return fill(text, line, COMPOSE, caller.inputs.dotenv)


def _words(node: Node, caller: Caller) -> list[Word]:
    """A text is split as a shell would, but no shell expands it."""
    if isinstance(node.value, list):
        return [_filled(item.text, item.line, caller) for item in node.items]
    words = words_in(node.text, node.line)
    return [_filled(word.text, word.line, caller) for word in words if not word.text.isspace()]


def _variables(service: Node, caller: Caller) -> None:
    """What ``env_file`` names, then ``environment``, which wins."""
    files, variables = service.at("env_file"), service.at("environment")
    for entry in files.items if isinstance(files.value, list) else [files]:
        named = entry.at("path") if entry.fields else entry
        if named.value is not None:
            caller.read_variables(_filled(named.text, named.line, caller).text, named.line)
    written = [
        (str(name), node.text if node.value is not None else None, node.key_line)
        for name, node in variables.fields.items()
    ]
    for item in variables.items:
        name, equals, text = item.text.partition("=")
        written.append((name, text if equals else None, item.line))
    for name, value, line in written:  # none: it comes from whoever calls, and from .env
        word = _filled(f"${name}" if value is None else value, line, caller)
        caller.environment[name] = caller.value(word.text, word.line, word.literal)


def _container(name: str, service: Node, caller: Caller) -> Container:
    ipc = service.at("ipc").text
    volumes = [*_listed(service.at("volumes")), *_listed(service.at("tmpfs"))]
    return Container(
        f"{caller.source} {ipc.removeprefix('service:') if ipc.startswith('service:') else name}",
        memory=_size(caller, service.at("mem_limit"), service.at("deploy", "resources", "limits", "memory")),
        shm=_size(caller, service.at("shm_size")),
        host_network=service.at("network_mode").text == "host",
        host_ipc=ipc == "host",
        published=[_joined(port, "host_ip", "published", "target") for port in _listed(service.at("ports"))],
        volumes={mount_path(_joined(volume, "target")): None for volume in volumes},
    )


def _size(caller: Caller, *nodes: Node) -> Value | None:
    """The first that is one, in GiB."""
    return next(filter(None, (docker_size(caller, node.value, node.line) for node in nodes)), None)


def _joined(entry: Any, *parts: str) -> str:
    """A port or volume as its short form has it."""
    return ":".join(str(entry[part]) for part in parts if part in entry) if isinstance(entry, dict) else str(entry)


def _listed(node: Node) -> list[Any]:
    plain = node.plain()
    return plain if isinstance(plain, list) else [plain] if isinstance(plain, str) else []
