"""What people paste, read into one shape: the vLLM commands with their environment, and LMCache's settings.

Kinds: a shell script or command, an .env file, docker-compose, a Kubernetes object, lmcache.yaml. A here-document that
writes one of these is read as such.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.lint.shell import Command, Word, expand, parse
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.settings import known

_NOT_SHELL = {
    "a Dockerfile": re.compile(r"(?:FROM|ARG) \S+"),
    "a systemd unit": re.compile(r"\[(?:Unit|Service|Install)\]"),
    "Python": re.compile(r"(?:from [\w.]+ import|import [\w.]+)\b"),
}
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")
_IMAGE = re.compile(r"(?:^|/)(?P<name>vllm-openai|vllm-cpu\S*|vllm):v?(?P<version>\d[\w.+-]*)")
_PIN = re.compile(r"\b(?P<name>vllm|lmcache)(?:\[[^\]]*\])?==(?P<version>\d[\w.+]*)")


@dataclass(frozen=True)
class Value:
    """A setting, variable or option as written. ``literal``: not filled in by a variable we cannot see."""

    value: Any
    source: str
    line: int
    literal: bool = True


@dataclass
class Server:
    """One ``vllm serve``: options by their name without dashes, its environment; ``published``: compose's ports."""

    source: str
    line: int
    options: dict[str, Value] = field(default_factory=dict)
    environment: dict[str, Value] = field(default_factory=dict)
    published: list[str] | None = None


@dataclass
class Given:
    """Everything the inputs said."""

    servers: list[Server] = field(default_factory=list)
    environment: dict[str, Value] = field(default_factory=dict)  # outside any server: .env files, exports alone
    files: list[dict[str, Value]] = field(default_factory=list)  # each lmcache.yaml
    versions: dict[str, Value] = field(default_factory=dict)
    lmcache_server: bool = False


@dataclass(frozen=True)
class Source:
    """A text to check and what to call it; the name's ending tells its kind where it has one."""

    name: str
    text: str


def read_sources(sources: Sequence[Source]) -> Given:
    """All inputs as one deployment.

    Raises:
        KvtiersError: ``NAME, line N: …`` for what cannot be read.
    """
    given = Given()
    for source in sources:
        _read(source, given)
    return given


def _read(source: Source, given: Given, first_line: int = 1) -> None:
    try:
        match _kind(source):
            case "env":
                given.environment |= _env_file(source, first_line)
            case "yaml":
                _yaml(source, given, first_line)
            case _:
                _refuse_what_only_looks_like_shell(source)
                _script(source, given, first_line)
    except KvtiersError as error:
        raise KvtiersError(f"{source.name}, {error}") from None
    except RecursionError:
        raise KvtiersError(f"{source.name}, line {first_line}: what begins there is nested too deeply") from None


def _kind(source: Source) -> str:
    name = source.name.lower()
    if name.endswith((".yaml", ".yml")):
        return "yaml"
    if name.endswith(".env") or name == ".env":
        return "env"
    if name.endswith((".sh", ".bash")):
        return "shell"
    lines = [line.strip() for line in source.text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and all(re.fullmatch(r"[A-Za-z_]\w*=\S*|[A-Za-z_]\w*=(['\"{]).*", line) for line in lines):
        return "env"
    first = lines[0] if lines else ""
    return "yaml" if re.match(r"[A-Za-z_][\w.-]*:(\s|$)", first) else "shell"


def _env_file(source: Source, first_line: int) -> dict[str, Value]:
    variables = {}
    for number, line in enumerate(source.text.splitlines(), start=first_line):
        match = _ENV_LINE.match(line)
        if match:
            value = match[2].strip()
            if value[:1] in "\"'" and value[-1:] == value[:1] and len(value) > 1:
                value = value[1:-1]
            elif value[:1] not in "\"'{[":
                value = re.split(r"\s#", value, maxsplit=1)[0].strip()
            variables[match[1]] = Value(value, source.name, number, "$" not in value)
        elif line.strip() and not line.lstrip().startswith("#"):
            raise KvtiersError(f"line {number}: not NAME=value")
    return variables


def _yaml(source: Source, given: Given, first_line: int) -> None:
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
        _versions(str(image.value), source.name, image.line, given)
    command = [word for part in ("entrypoint", "command", "args") for word in _words(service.value.get(part))]
    is_server_image = image is not None and _IMAGE.search(str(image.value)) is not None and bool(command)
    before = len(given.servers)
    _run(Command(command), source.name, given, variables, is_server_image)
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


def _refuse_what_only_looks_like_shell(source: Source) -> None:
    """What the shell's rules would misread in silence."""
    for number, line in enumerate(source.text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            kind = next((kind for kind, start in _NOT_SHELL.items() if start.match(line)), None)
            if kind:
                raise KvtiersError(f"line {number}: {kind} is not read: give the vLLM command and its variables")
            return


def _script(source: Source, given: Given, first_line: int) -> None:
    exported: dict[str, Value] = {}
    variables: dict[str, str] = {}
    for command in parse(source.text, first_line):
        for document in command.documents:
            target = next((word.text for word in command.redirects), "")
            if target.endswith((".yaml", ".yml", ".env")) and "$" not in document.text:
                _read(Source(f"{source.name} ({target})", document.text), given, document.line)
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
                    exported[match[1]] = Value(match[2], source.name, word.line, word.literal)
        else:
            _run(Command(words, command.redirects), source.name, given, dict(exported))
    if not any(server.source == source.name for server in given.servers):
        given.environment |= exported


def _run(command: Command, source: str, given: Given, environment: dict[str, Value], is_server: bool = False) -> None:
    """One command: a vLLM server, a shell that starts one, or nothing to us but the versions it installs."""
    words = list(command.words)
    for word in words:
        _versions(word.text, source, word.line, given)
    while words:
        assignment = _ASSIGNMENT.fullmatch(words[0].text)
        if assignment:
            environment[assignment[1]] = Value(assignment[2], source, words[0].line, words[0].literal)
        elif words[0].text not in ("env", "exec", "nohup", "sudo", "time", "numactl", "setsid"):
            break
        words = words[1:]
    texts = [word.text for word in words]
    _container_variables(words, source, environment)
    if "-c" in texts[:3] and texts[0].rsplit("/", 1)[-1] in ("bash", "sh") and len(words) > texts.index("-c") + 1:
        script = words[texts.index("-c") + 1]
        for inner in parse(script.text, script.line):
            _run(inner, source, given, environment)
        return
    given.lmcache_server |= texts[:2] == ["lmcache", "server"] or texts[:1] == ["lmcache_server"]
    start = _server_start(words, is_server)
    if start is not None:
        line = words[start - 1].line if start else (words[0].line if words else 0)
        server = Server(source, line, environment=environment)
        server.options = _options(words[start:], source)
        given.servers.append(server)


def _container_variables(words: Sequence[Word], source: str, environment: dict[str, Value]) -> None:
    """``docker run -e NAME=value``."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in ("docker", "podman", "nerdctl"):
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
    if texts and texts[0].rsplit("/", 1)[-1] in ("docker", "podman", "nerdctl"):
        return next((index + 1 for index, text in enumerate(texts) if _IMAGE.search(text)), None)
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


def read_json(text: Any) -> Any:
    """What ``text`` holds.

    Raises:
        ValueError: where that is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _versions(text: str, source: str, line: int, given: Given) -> None:
    for match in _PIN.finditer(text):
        given.versions[match["name"]] = Value(match["version"], source, line)
    image = _IMAGE.search(text)
    if image:
        name = "lmcache" if "lmcache/" in text else "vllm"
        given.versions[name] = Value(image["version"], source, line)


def settings_of(environment: Mapping[str, Value]) -> dict[str, Value]:
    """LMCache's settings among variables, by their lower-case names; not its other variables."""
    found = {}
    for name, value in environment.items():
        setting = name.removeprefix("LMCACHE_")
        if setting != name and setting not in known.other_variables() and not setting.startswith("EC_"):
            found[setting.lower()] = value
    return found
