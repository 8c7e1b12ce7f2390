"""Command lines, in a script or alone: servers with their options and environment, and versions installed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.docker import docker_run
from kvtiers.lint.command.expand import Scope, expand, expand_value, here_document
from kvtiers.lint.command.inputs import values_of
from kvtiers.lint.command.options import merge_config, read_options, spell_out
from kvtiers.lint.command.programs import is_server, lmcache_start, script_in, server_start
from kvtiers.lint.command.shell import Command, Word, joined, parse
from kvtiers.lint.given import Source, Unseen, Value
from kvtiers.settings import known

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_EXPORTING = ("export", "declare", "typeset", "local", "readonly", "setenv")
_WRAPPERS = ["env", "exec", "nohup", "sudo", "time", "numactl", "setsid", "nice", "command", "tini", "dumb-init"]
_KEYWORDS = ("if", "then", "elif", "else", "do", "while", "until", "!", "{", "[[", "[")
_SETS_NO_SETTING = re.compile(r"(?:activate|\.?\w*rc|\.?\w*profile|conda\.sh|setup\w*\.sh)$")
_WRITTEN = (".yaml", ".yml", ".env", ".json", ".service", ".sh")


def read_script(commands: Iterable[Command], caller: Caller) -> None:
    """Add what a script starts, with what it exports to them."""
    before = len(caller.started)
    for command in joined(commands):
        _step(command, caller)
    started, asked_for = caller.started[before:], caller.scope.referenced
    own = {name for name in asked_for if name.removeprefix("LMCACHE_").lower() not in known.kinds()}
    for process in started:
        for variables, leave_out in ((process.not_exported, asked_for), (process.environment, own)):
            for name in leave_out & set(variables):
                del variables[name]
    if not started:
        caller.hand_over()


def _note_documents(command: Command, caller: Caller) -> None:
    """Files that a script writes from here-documents, or hands to kubectl: from here on they are there."""
    texts = [word.text for word in command.words]
    to_tee = texts[-1] if "tee" in texts else ""
    target = next((expand_value(word, caller.scope).text for word in command.redirects), "") or to_tee
    target = "kubectl.yaml" if "kubectl" in texts[:2] else target
    documents = [*caller.piped]
    for document in command.documents:
        filled = document.text if document.literal else here_document(document.text, caller.scope)
        documents.append((filled, document.line))
    caller.piped = documents if command.piped and not target else []
    for text, line in documents if target.endswith(_WRITTEN) else ():
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
    elif not _builtin(first, raw[1:], caller):
        run_command(_expanded(raw, caller), caller, command.broken)


def _expanded(words: Iterable[Word], caller: Caller) -> list[Word]:
    return [one for word in words for one in expand(word, caller.scope)]


def _assign(word: Word, caller: Caller, exports: bool) -> None:
    match, name = _ASSIGNMENT.fullmatch(word.text), word.text.rstrip("+=")
    if word.items is not None:
        before = caller.scope.arrays.get(name, []) if "+=" in word.text else []
        caller.scope.arrays[name] = [*before, *_expanded(word.items, caller)]
    elif match:
        _set(match[1], bool(match[2]), expand_value(word, caller.scope), caller, exports)
    elif exports and not word.literal:  # export $(grep -v '^#' .env)
        caller.not_seen("sourced", word.text, word.line)
    elif exports and word.text in caller.assigned:
        caller.environment[word.text] = caller.assigned.pop(word.text)


def _set(name: str, appends: bool, whole: Word, caller: Caller, exports: bool) -> None:
    text = whole.text.partition("=")[2]
    before = (caller.scope.variables.get(name) or "") if appends else ""
    caller.scope.variables[name] = before + text if whole.literal else None
    to = caller.environment if exports or name in caller.environment else caller.assigned
    caller.assigned.pop(name, None)
    to[name] = caller.value(text, whole.line, whole.literal)


def _builtin(name: str, words: Sequence[Word], caller: Caller) -> bool:
    """What a shell does itself; False where it is none of those that matter."""
    texts = [word.text for word in words]
    match name:
        case "set":
            caller.exports_all = ("-a" in texts or "allexport" in texts) or (caller.exports_all and "+a" not in texts)
        case "unset":
            for text in texts:
                caller.environment.pop(text, None)
                caller.assigned.pop(text, None)
        case "for" | "read":
            caller.scope.variables |= {text: None for text in texts if text.isidentifier()}
        case "eval":
            _read_inner(" ".join(one.text for one in _expanded(words, caller)), words[0].line if words else 0, caller)
        case "source" | "." if words:
            found = caller.inputs.find(texts[0])
            if found:
                _read_inner(found[0].text, found[1], replace(caller, source=found[0].name))
            elif not _SETS_NO_SETTING.search(texts[0]):
                caller.not_seen("sourced", texts[0], words[0].line)
        case _:
            return False
    return True


def _read_inner(text: str, line: int, caller: Caller) -> None:
    for command in joined(parse(text, line)):
        _step(command, caller)


def run_command(words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]] = ()) -> None:
    """One command: a server, a shell or container that starts one, or nothing to us but the versions it installs."""
    for word in words:
        caller.note_versions(word.text, word.line)
    words, environment = _prefix(words, caller)
    caller = replace(caller, environment=environment)
    container = docker_run(words, caller)
    if container:
        run_command(*container, broken)
        return
    script = script_in(words)
    if script is None:
        _start(words, caller, broken)
        return
    caller.scope = replace(caller.scope, variables={**caller.scope.variables, **values_of(environment)})
    caller.image_serves = False
    before = len(caller.started)
    _read_inner(script.text, script.line, caller)
    if len(caller.started) == before:  # command: [sh, -c], args: [vllm, serve, …]
        _start(words[words.index(script) :], caller, [(script.line, "argument")])


def run_container(caller: Caller, image: str, line: int, command: list[Word], arguments: list[Word]) -> None:
    """What a container runs. Where only its image knows, but it is handed LMCache's settings, it is a server unseen.

    ``caller.image_serves``: does the image, whatever its name, where no ``command`` stands in its place?
    """
    serves = caller.image_serves or is_server(image)
    caller.image_serves = serves and not command and bool(arguments)
    caller.scope = Scope(values_of(caller.environment))
    before = len(caller.started)
    run_command([*command, *arguments], caller)
    if len(caller.started) == before and any(name.startswith("LMCACHE_") for name in caller.environment):
        unseen = Unseen("image", image, caller.source, line)
        process = caller.process(line)
        process.unseen.append(unseen)
        process.environment_unseen.append(unseen)
        caller.given.servers.append(process)


def _prefix(words: Sequence[Word], caller: Caller) -> tuple[Sequence[Word], dict[str, Value]]:
    """What is left without assignments and wrappers, and the environment with them."""
    environment, wrapped = dict(caller.environment), False
    for start, word in enumerate(words):
        assignment = _ASSIGNMENT.fullmatch(word.text)
        if assignment:
            environment[assignment[1]] = caller.value(assignment[3], word.line, word.literal)
        elif word.text in _WRAPPERS:
            wrapped = True
        elif not (wrapped and word.text.startswith("-")):
            return words[start:], environment
    return [], environment


def _start(words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]]) -> None:
    """Add the server that a command starts, if it does."""
    server = lmcache_start(words)
    start = server or server_start(words, caller.image_serves)
    if start is None:
        return
    line = words[start - 1].line if start else (words[0].line if words else 0)
    process = caller.process(line)
    process.broken = [(caller.value("", number), cause) for number, cause in broken]
    read_options(words[start:], process)
    if server:
        spell_out(process, known.server_options())
        caller.given.lmcache_servers.append(process)
        return
    if any(word.text == "dynamo.vllm" for word in words[:start]):
        process.options.setdefault("connector", caller.value("", line, literal=False))
    merge_config(process, caller.inputs)
    caller.given.servers.append(process)
