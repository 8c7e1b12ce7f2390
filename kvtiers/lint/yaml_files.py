"""YAML files that set up vLLM and LMCache: lmcache.yaml, docker-compose, Kubernetes objects."""

import re
from collections.abc import Iterator
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.lint.given import Given, Source, Value
from kvtiers.lint.scripts import IMAGE, note_versions, run_command
from kvtiers.lint.shell import Command, Word, parse
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.settings import known


def read_yaml(source: Source, given: Given, first_line: int) -> None:
    """Add what the file says to ``given``.

    Raises:
        KvtiersError: ``line N: …`` for what is no YAML, or YAML about something else.
    """
    for node in documents(source.text, first_line):
        if isinstance(node.value, dict):
            _document(source, node, given)
        elif node.value is not None:
            raise KvtiersError(f"line {node.line}: neither settings (name: value) nor services")


def _document(source: Source, node: Node, given: Given) -> None:
    services = node.value.get("services")
    if services is not None and isinstance(services.value, dict):
        for service in services.value.values():
            if isinstance(service.value, dict):
                _service(source, service, given)
    elif {"apiVersion", "kind"} <= set(node.value):
        for container in _containers(node):
            _service(source, container, given)
    elif any(_like_a_setting(str(key)) for key in node.value):
        given.files.append({str(key): Value(value, source.name, node.keys[key]) for key, value in node.value.items()})
    else:
        raise KvtiersError(f"line {node.line}: neither LMCache's settings nor services of compose or Kubernetes")


def _like_a_setting(key: str) -> bool:
    return key in known.renamed() or bool(known.nearest(key, known.kinds()))


def _containers(node: Node) -> Iterator[Node]:
    """Of a Kubernetes object, at any depth."""
    if isinstance(node.value, dict):
        if "image" in node.value and "name" in node.value:
            yield node
        for inner in node.value.values():
            yield from _containers(inner)
    elif isinstance(node.value, list):
        for inner in node.value:
            yield from _containers(inner)


def _service(source: Source, service: Node, given: Given) -> None:
    image = service.value.get("image")
    variables = _environment(source, service.value.get("environment") or service.value.get("env"))
    if image is not None:
        note_versions(str(image.value), source.name, image.line, given)
    command = [word for part in ("entrypoint", "command", "args") for word in _words(service.value.get(part))]
    is_server_image = image is not None and IMAGE.search(str(image.value)) is not None and bool(command)
    before = len(given.servers)
    run_command(Command(command), source.name, given, variables, is_server_image)
    ports = service.value.get("ports")
    for server in given.servers[before:]:
        server.published = (
            [str(port.plain()) for port in ports.value] if ports and isinstance(ports.value, list) else []
        )
    if len(given.servers) == before:
        given.environment |= {name: value for name, value in variables.items() if name.startswith("LMCACHE_")}


def _environment(source: Source, node: Node | None) -> dict[str, Value]:
    variables: dict[str, Value] = {}
    if node is None:
        return variables
    if isinstance(node.value, dict):
        entries = [(str(key), value.value, node.keys[key]) for key, value in node.value.items()]
    else:
        items = node.value if isinstance(node.value, list) else []
        entries = [_entry(item) for item in items]
    for name, value, line in entries:
        text = _as_variable(value)
        variables[name] = Value(text, source.name, line, value is not None and "${" not in text)
    return variables


def _entry(item: Node) -> tuple[str, Any, int]:
    """``NAME=value``, or Kubernetes' ``{name: …, value: …}``, whose value may come from elsewhere."""
    if isinstance(item.value, dict):
        name, value = item.value.get("name"), item.value.get("value")
        return str(name.value) if name else "", value.value if value else None, item.line
    name, equals, value = str(item.value).partition("=")
    return name, value if equals else None, item.line


def _as_variable(value: Any) -> str:
    """Compose hands YAML's true over as the text true."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _words(node: Node | None) -> list[Word]:
    if node is None or node.value is None:
        return []
    if isinstance(node.value, list):
        return [
            Word(_as_variable(item.value), item.line, not re.search(r"\$[{(]", str(item.value))) for item in node.value
        ]
    text = str(node.value).replace("$$", "$")
    return [word for command in parse(text, node.line, newline_ends=False) for word in command.words]
