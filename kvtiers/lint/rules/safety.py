"""Rules about who can reach a server, and secrets lying in files. Findings name the place, never the secret."""

import re
from collections.abc import Iterator
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Process, Value
from kvtiers.lint.setup import Setup
from kvtiers.lint.yaml_nodes import Node

_OPEN_HOSTS = ("0.0.0.0", "::", "[::]", "*")
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:api[_-]?key|token|secret|passw(?:or)?d|access[_-]?key(?:[_-]id)?|account[_-]key|connection[_-]string)$",
    re.I,
)
_NAMES_OF_PLACES = re.compile(r"(?:token_env|_file|_path|secret_name)$", re.I)
_SECRET_VALUE = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{12,}|gh[ps]_[A-Za-z0-9]{20,})")
_CREDENTIALS = re.compile(r"://[^/\s:@]*:[^/\s@$]+@")
_PLACEHOLDER = re.compile(r"<.*>|\$.*|/run/secrets.*|x{3,}|\*{3,}|EMPTY|None", re.I)


def check_api(setup: Setup) -> Iterator[Finding]:
    """An API that anybody can reach."""
    server = setup.server
    if server is None:
        return
    host = server.options.get("host")
    key = server.options.get("api-key") or setup.environment.get("VLLM_API_KEY")
    if host and str(host.value) in _OPEN_HOSTS and key is None and _reachable(server):
        yield at("api_open", host)


def _reachable(process: Process) -> bool:
    """Is a port that is open inside open outside? A container of its own network shows what it publishes."""
    container = process.container
    if container is None or container.host_network:
        return True
    return any(not port.startswith(_LOOPBACK) for port in container.published)


def check_lmcache_server(process: Process) -> Iterator[Finding]:
    """LMCache's server and its admin API ask nobody who they are."""
    scripts = process.options.get("run-script-api-enabled")
    if scripts:
        yield at("mp_run_script", scripts)
    for name in ("host", "http-host"):
        host = process.options.get(name)
        if host is None or not host.literal or str(host.value).removeprefix("tcp://") in _LOOPBACK:
            continue
        if _reachable(process):
            yield at("mp_open", host, name=f"--{name}", host=host.value)


def check_secrets(given: Given) -> Iterator[Finding]:
    """Secrets written out in the inputs."""
    values: list[tuple[str, Value]] = [*given.environment.items()]
    for process in [*given.servers, *given.lmcache_servers]:
        values += [*process.environment.items(), *process.not_exported.items(), *process.options.items()]
    for file in given.files.values():
        values += file.items()
    for name, value in values:
        plain = value.value.plain() if isinstance(value.value, Node) else value.value
        if value.literal and (_names_secret(name, plain) or _looks_secret(plain)):
            yield at("secret", value, name=name)
        elif value.literal:
            for inner in _inner_names(plain):
                yield at("secret", value, name=inner)


def _names_secret(name: str, value: Any) -> bool:
    written = isinstance(value, (str, int)) and not isinstance(value, bool) and str(value)
    is_secret = written and _SECRET_NAME.search(name) and not _NAMES_OF_PLACES.search(name)
    return bool(is_secret) and not _PLACEHOLDER.fullmatch(str(value))


def _looks_secret(value: Any) -> bool:
    return isinstance(value, str) and bool(_SECRET_VALUE.search(value) or _CREDENTIALS.search(value))


def _inner_names(value: Any) -> Iterator[str]:
    """Secret keys of a JSON or YAML object, at any depth."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = read_json(value)
        except ValueError:
            return
    if isinstance(value, list):
        for inner in value:
            yield from _inner_names(inner)
    if isinstance(value, dict):
        for key, inner in value.items():
            if _names_secret(str(key), inner) or _looks_secret(inner):
                yield str(key)
            yield from _inner_names(inner)
