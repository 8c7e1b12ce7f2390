"""Command lines, in a script or alone: servers with their options and environment, and versions installed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kvtiers.lint.command.docker import docker_run, forwarded
from kvtiers.lint.command.expand import Scope, expand, expand_value, here_document
from kvtiers.lint.command.images import is_server, note_versions
from kvtiers.lint.command.inputs import Inputs, values_of
from kvtiers.lint.command.lines import joined
from kvtiers.lint.command.options import read_options, spell_out
from kvtiers.lint.command.programs import handed_script, lmcache_start, server_start, shell_script
from kvtiers.lint.command.shell import Command, Word, parse
from kvtiers.lint.command.vllm_config import merge_config
from kvtiers.lint.given import Container, Given, Process, Source, Unseen, Value
from kvtiers.settings import known

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_EXPORTING = ("export", "declare", "typeset", "local", "readonly", "setenv")
_BEFORE_A_COMMAND = (
    "env",
    "exec",
    "nohup",
    "sudo",
    "time",
    "numactl",
    "setsid",
    "nice",
    "command",
    "tini",
    "dumb-init",
)
_KEYWORDS = ("if", "then", "elif", "else", "do", "while", "until", "!", "{", "[[", "[")
_SETS_NO_SETTING = re.compile(r"(?:activate|\.?\w*rc|\.?\w*profile|conda\.sh|setup\w*\.sh)$")
_WRITTEN = (".yaml", ".yml", ".env", ".json", ".service", ".sh")
_OURS = re.compile(r"LMCACHE_|VLLM_|PYTHONHASHSEED$")


@dataclass
class Caller:
    """Where a command stands: in which text, and what reaches it.

    ``environment``: what it is handed; ``assigned``: variables that are set and not exported; ``unseen``: where more
    variables may come from. ``image_serves``: the command is what follows an image's own ``vllm serve``.
    """

    source: str
    inputs: Inputs
    given: Given
    environment: dict[str, Value] = field(default_factory=dict)
    assigned: dict[str, Value] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    versions: dict[str, Value] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    container: Container | None = None
    image_serves: bool = False
    exports_all: bool = False
    piped: list[tuple[str, int]] = field(default_factory=list)  # here-documents on their way to a tee

    @property
    def started(self) -> list[Process]:
        """The servers that this text starts."""
        everything = [*self.given.servers, *self.given.lmcache_servers]
        return [process for process in everything if process.source == self.source]


def read_script(commands: Iterable[Command], caller: Caller) -> None:
    """Add what a script starts, with what it exports to them."""
    before = len(caller.started)
    for command in joined(commands):
        _step(command, caller)
    started = caller.started[before:]
    own = {name for name in caller.scope.referenced if name.removeprefix("LMCACHE_").lower() not in known.kinds()}
    for process in started:
        for variables, leave_out in ((process.not_exported, caller.scope.referenced), (process.environment, own)):
            for name in leave_out & set(variables):
                del variables[name]
    if not started:
        ours = {name: value for name, value in caller.assigned.items() if _OURS.match(name)}
        caller.given.environment |= {**ours, **caller.environment}
        caller.given.versions |= caller.versions


def _note_documents(command: Command, caller: Caller) -> None:
    """Files that a script writes from here-documents, or hands to kubectl: from here on they are there."""
    texts = [word.text for word in command.words]
    to_tee = texts[-1:] if "tee" in texts else []
    target = next((expand_value(word, caller.scope).text for word in command.redirects), "") or "".join(to_tee)
    target = "kubectl.yaml" if "kubectl" in texts[:2] else target
    documents = [*caller.piped]
    for document in command.documents:
        filled = here_document(document.text, caller.scope) if document.expands else document.text
        documents.append((filled, document.line))
    caller.piped = documents if command.piped and not target else []
    for text, line in documents:
        if target.endswith(_WRITTEN):
            caller.inputs.add(Source(f"{caller.source} ({target})", text), line)


def _step(command: Command, caller: Caller) -> None:
    _note_documents(command, caller)
    raw = command.words
    while raw and raw[0].text in _KEYWORDS:
        raw = raw[1:]
    if not raw:
        return
    first = raw[0].text
    if first in _EXPORTING:
        exports = first in ("export", "setenv") or any(re.match(r"-\w*x", word.text) for word in raw[1:3])
        for word in raw[1:]:
            _assign(word, caller, exports)
    elif all(word.items is not None or _ASSIGNMENT.fullmatch(word.text) for word in raw):
        for word in raw:
            _assign(word, caller, caller.exports_all)
    elif first == "read" and command.documents and raw[-1].text.isidentifier():
        caller.scope.variables[raw[-1].text] = command.documents[0].text
    elif first in ("set", "unset", "for", "read", "source", ".", "eval"):
        _builtin(first, raw[1:], caller)
    else:
        words = [one for word in raw for one in expand(word, caller.scope)]
        run_command(words, caller, command.broken)


def _assign(word: Word, caller: Caller, exports: bool) -> None:
    match = _ASSIGNMENT.fullmatch(word.text)
    if word.items is not None:
        name = word.text.rstrip("+=")
        items = [one for item in word.items for one in expand(item, caller.scope)]
        caller.scope.arrays[name] = [*(caller.scope.arrays.get(name, []) if "+=" in word.text else []), *items]
    elif match is None:
        name = word.text
        if exports and not word.literal:  # export $(grep -v '^#' .env)
            caller.unseen.append(Unseen("sourced", name, caller.source, word.line))
        elif exports and name in caller.assigned:
            caller.environment[name] = caller.assigned.pop(name)
    else:
        whole = expand_value(word, caller.scope)
        text = whole.text.partition("=")[2]
        name, value = match[1], Value(text, caller.source, word.line, whole.literal)
        before = (caller.scope.variables.get(name) or "") if match[2] else ""
        caller.scope.variables[name] = before + text if whole.literal else None
        if exports or name in caller.environment:
            caller.environment[name] = value
            caller.assigned.pop(name, None)
        else:
            caller.assigned[name] = value


def _builtin(name: str, words: Sequence[Word], caller: Caller) -> None:
    texts = [word.text for word in words]
    if name == "set":
        caller.exports_all = ("-a" in texts or "allexport" in texts) or (caller.exports_all and "+a" not in texts)
    elif name == "unset":
        for text in texts:
            caller.environment.pop(text, None)
            caller.assigned.pop(text, None)
    elif name in ("for", "read"):
        caller.scope.variables |= {text: None for text in texts if text.isidentifier()}
    elif name == "eval":
        line = words[0].line if words else 0
        script = " ".join(one.text for word in words for one in expand(word, caller.scope))
        _read_inner(script, line, caller)
    elif texts:
        found = caller.inputs.find(texts[0])
        if found:
            _read_inner(found[0].text, found[1], replace(caller, source=found[0].name))
        elif not _SETS_NO_SETTING.search(texts[0]):
            caller.unseen.append(Unseen("sourced", texts[0], caller.source, words[0].line))


def _read_inner(text: str, line: int, caller: Caller) -> None:
    for command in joined(parse(text, line)):
        _step(command, caller)


def run_command(words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]] = ()) -> None:
    """One command: a server, a shell or container that starts one, or nothing to us but the versions it installs."""
    for word in words:
        note_versions(word.text, caller.source, word.line, caller.given, caller.versions)
    words, environment = _prefix(words, caller)
    run = docker_run(words, caller.source, caller.inputs)
    if run is not None:
        unset = [*forwarded(run, environment)]
        inner = [*([run.entrypoint] if run.entrypoint else []), *run.arguments]
        serves = run.entrypoint is None and (is_server(run.image.text) or _like_options(run.arguments))
        assigned = {name: caller.assigned[name] for name in unset if name in caller.assigned}
        versions: dict[str, Value] = {}
        for word in (run.image, *run.arguments):
            note_versions(word.text, caller.source, word.line, caller.given, versions)
        inside = replace(
            caller,
            environment=run.environment,
            assigned=assigned,
            unseen=run.unseen,
            versions=versions,
            container=run.container,
            image_serves=serves,
        )
        run_command(inner, inside, broken)
        return
    script = shell_script(words) or handed_script(words)
    if script is not None:
        scope = replace(caller.scope, variables={**caller.scope.variables, **values_of(environment)})
        inside = replace(caller, environment=environment, scope=scope, image_serves=False)
        before = len(caller.started)
        _read_inner(script.text, script.line, inside)
        if len(caller.started) == before:  # command: [sh, -c], args: [vllm, serve, …]
            _start(words[words.index(script) :], inside, [(script.line, "argument")])
        return
    _start(words, replace(caller, environment=environment), broken)


def run_container(words: Sequence[Word], caller: Caller, image: str, line: int) -> None:
    """What a container runs. Where only its image knows, but it is handed LMCache's settings, it is a server unseen."""
    before = len(caller.started)
    run_command(words, caller)
    if len(caller.started) == before and any(name.startswith("LMCACHE_") for name in caller.environment):
        unseen = [Unseen("image", image, caller.source, line)]
        process = _process(line, caller)
        process.unseen += unseen
        process.environment_unseen += unseen
        caller.given.servers.append(process)


def _like_options(words: Sequence[Word]) -> bool:
    """Does an unknown image get what only vLLM's server takes?"""
    return any(word.text.startswith(("--kv-transfer-config", "--max-model-len")) for word in words)


def _prefix(words: Sequence[Word], caller: Caller) -> tuple[Sequence[Word], dict[str, Value]]:
    """What is left without assignments and wrappers, and the environment with them."""
    environment, wrapped = dict(caller.environment), False
    while words:
        assignment = _ASSIGNMENT.fullmatch(words[0].text)
        if assignment:
            environment[assignment[1]] = Value(assignment[3], caller.source, words[0].line, words[0].literal)
        elif words[0].text in _BEFORE_A_COMMAND:
            wrapped = True
        elif not (wrapped and words[0].text.startswith("-")):
            break
        words = words[1:]
    return words, environment


def _start(words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]]) -> None:
    """Add the server that a command starts, if it does."""
    server = lmcache_start(words)
    start = server or server_start(words, caller.image_serves)
    if start is None:
        return
    line = words[start - 1].line if start else (words[0].line if words else 0)
    process = _process(line, caller)
    process.broken = [(Value("", caller.source, number), cause) for number, cause in broken]
    read_options(words[start:], process)
    if server:
        spell_out(process, known.server_options())
        caller.given.lmcache_servers.append(process)
        return
    if any(word.text == "dynamo.vllm" for word in words[:start]):
        process.options.setdefault("connector", Value("", caller.source, line, literal=False))
    merge_config(process, caller.inputs)
    caller.given.servers.append(process)


def _process(line: int, caller: Caller) -> Process:
    return Process(
        caller.source,
        line,
        environment=dict(caller.environment),
        environment_unseen=list(caller.unseen),
        not_exported={name: value for name, value in caller.assigned.items() if _OURS.match(name)},
        versions=dict(caller.versions),
        container=caller.container,
    )
