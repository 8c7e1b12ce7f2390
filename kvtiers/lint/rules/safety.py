"""Rules about who can reach a server, and secrets lying in files. Findings name the place, never the secret."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Invocation, Value
from kvtiers.lint.setup import Setup
from kvtiers.settings.since import Name

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


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Servers that anybody can reach; LMCache's and its admin API ask nobody who they are."""
    for setup in setups:
        host, key = setup.option("host"), setup.option("api-key") or setup.environment.get("VLLM_API_KEY")
        if host and str(host.value) in _OPEN_HOSTS and key is None and _reachable(setup.server, "port", 8000):
            yield at("api_open", host)
    for process in given.lmcache_servers:
        scripts = process.options.get("run-script-api-enabled")
        if scripts:
            yield at("mp_run_script", scripts)
        for name, port, default in (("host", "port", 5555), ("http-host", "http-port", 8080)):
            host = process.options.get(name)
            outside = host and host.literal and str(host.value).removeprefix("tcp://") not in _LOOPBACK
            if host and outside and _reachable(process, port, default):
                yield at("mp_open", host, name=f"--{name}", host=host.value)
        yield from _http_by_default(process, {**given.versions, **process.versions})


def _http_by_default(process: Invocation, versions: Mapping[str, Value]) -> Iterator[Finding]:
    """Of a server that is not told where its HTTP port listens: that depends on its release."""
    version = str(versions["lmcache"].value) if "lmcache" in versions else ""
    hosts = Name("lmcache", "server_options", "http-host").defaults(version)
    is_open = [host in _OPEN_HOSTS for host in hosts]
    told = "http-host" in process.options or process.unseen
    if not told and any(is_open) and _reachable(process, "http-port", 8080):
        yield at("mp_open_by_default", process, all(is_open), host=hosts[0])


def _reachable(process: Invocation, option: str, default: int) -> bool:
    """Is a port that is open inside open outside? A container of its own network shows what it publishes."""
    container = process.container
    if container is None or container.host_network:
        return True
    inside = [
        port.rpartition(":")[2].partition("/")[0] for port in container.published if not port.startswith(_LOOPBACK)
    ]
    return any(not port.isdecimal() or int(port) == (process.number(option) or default) for port in inside)


def check_secrets(given: Given) -> Iterator[Finding]:
    """Secrets written out in the inputs."""
    said = [given.environment]
    for process in [*given.servers, *given.lmcache_servers]:
        said += [process.environment, process.not_exported, process.options]
    for name, value in (item for values in [*said, *given.files.values()] for item in values.items()):
        for secret in _secrets(name, value.value) if value.literal else ():
            yield at("secret", value, name=secret)


def _secrets(name: str, value: Any) -> Iterator[str]:
    """Its name where it is one; otherwise those of the secrets in a JSON or YAML object, at any depth."""
    pending = [(name, value)]
    while pending:
        name, value = pending.pop()
        if _is_secret(name, value):
            yield name
            continue
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            with suppress(ValueError):
                value = read_json(value)
        if isinstance(value, list):
            pending += [(name, inner) for inner in reversed(value)]
        elif isinstance(value, dict):
            pending += [(str(key), inner) for key, inner in reversed(value.items())]


def _is_secret(name: str, value: Any) -> bool:
    text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    named = _SECRET_NAME.search(name) and not _NAMES_OF_PLACES.search(name) and not _PLACEHOLDER.fullmatch(text)
    return bool(text and (named or _SECRET_VALUE.search(text) or _CREDENTIALS.search(text)))
