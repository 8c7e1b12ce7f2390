"""Rules about who can reach the API, and secrets lying in files. Findings name the place, never the secret."""

import re
from collections.abc import Iterator
from typing import Any

from kvtiers.lint.findings import Finding
from kvtiers.lint.given import Given, Value, read_json
from kvtiers.lint.setup import Setup
from kvtiers.lint.yaml_nodes import Node

_OPEN_HOSTS = ("0.0.0.0", "::", "[::]", "*")
_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:api[_-]?key|token|secret|passw(?:or)?d|access[_-]?key(?:[_-]id)?|account[_-]key|connection[_-]string)s?$",
    re.I,
)
_NAMES_OF_PLACES = re.compile(r"(?:token_env|_file|_path|secret_name)$", re.I)
_SECRET_VALUE = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{12,}|gh[ps]_[A-Za-z0-9]{20,})")
_CREDENTIALS = re.compile(r"://[^/\s:@]*:[^/\s@$]+@")


def check_server(setup: Setup) -> Iterator[Finding]:
    """An API that anybody can reach."""
    server = setup.server
    if server is None:
        return
    host = server.options.get("host")
    key = server.options.get("api-key") or setup.environment.get("VLLM_API_KEY")
    local_only = bool(server.published is not None) and all(
        port.startswith("127.0.0.1:") for port in server.published or []
    )
    if host and str(host.value) in _OPEN_HOSTS and key is None and not local_only:
        yield Finding("api_open", host.source, host.line)


def check_secrets(given: Given) -> Iterator[Finding]:
    """Secrets written out in the inputs."""
    values: list[tuple[str, Value]] = [*given.environment.items()]
    for server in given.servers:
        values += [*server.environment.items(), *server.options.items()]
    for file in given.files:
        values += file.items()
    for name, value in values:
        plain = value.value.plain() if isinstance(value.value, Node) else value.value
        if value.literal and (name in _secret_names(name, plain) or _looks_secret(plain)):
            yield Finding("secret", value.source, value.line, {"name": name})
        elif value.literal:
            for inner in _inner_names(plain):
                yield Finding("secret", value.source, value.line, {"name": inner})


def _secret_names(name: str, value: Any) -> tuple[str, ...]:
    written = isinstance(value, (str, int)) and not isinstance(value, bool) and str(value)
    is_secret = written and _SECRET_NAME.search(name) and not _NAMES_OF_PLACES.search(name)
    return (name,) if is_secret and not str(value).startswith(("$", "/run/secrets")) else ()


def _looks_secret(value: Any) -> bool:
    return isinstance(value, str) and bool(_SECRET_VALUE.search(value) or _CREDENTIALS.search(value))


def _inner_names(value: Any) -> Iterator[str]:
    """Secret keys of a JSON or YAML object, at any depth."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = read_json(value)
        except ValueError:
            return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secret_names(str(key), inner)
            if _looks_secret(inner):
                yield str(key)
            yield from _inner_names(inner)
