"""Command lines, in a script or alone: servers with their options and environment, and versions installed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import dropwhile

from kvtiers.lint.command.caller import Caller, placed
from kvtiers.lint.command.docker import docker_run
from kvtiers.lint.command.expand import expand, expand_value, here_document
from kvtiers.lint.command.options import merge_config, read_options, spell_out
from kvtiers.lint.command.programs import is_server, reads_script, script_in, server_start
from kvtiers.lint.command.shell import Command, Word, commands_in
from kvtiers.lint.given import Invocation, Source, Value
from kvtiers.settings import known

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_EXPORTING = ("export", "declare", "typeset", "local", "readonly", "setenv")
_WRAPPERS = ["env", "exec", "nohup", "sudo", "time", "numactl", "setsid", "nice", "command", "tini", "dumb-init"]
_KEYWORDS = ("if", "then", "elif", "else", "do", "while", "until", "!", "{", "[[", "[")
_SETS_NO_SETTING = re.compile(r"(?:activate|\.?\w*rc|\.?\w*profile|conda\.sh|setup\w*\.sh)$")
_WRITTEN = (".yaml", ".yml", ".env", ".json", ".service", ".sh")


def read_script(source: Source, caller: Caller) -> None:
    """Add what a script starts, with what it exports to them."""
    started, asked_for = _read(source.text, source.first_line, caller), caller.referenced
    own = {name for name in asked_for if name.removeprefix("LMCACHE_").lower() not in known.kinds()}
    for process in started:
        for variables, leave_out in ((process.not_exported, asked_for), (process.environment, own)):
            for name in leave_out & set(variables):
                del variables[name]
    if not started:
        caller.hand_over()


def _read(text: str, line: int, caller: Caller) -> list[Invocation]:
    return [process for command in commands_in(text, line) for process in _step(command, caller)]


def _note_documents(command: Command, caller: Caller) -> list[Word]:
    """A command's here-documents. Files that a script writes from them, or hands to kubectl, are there from now on."""
    texts = [word.text for word in command.words]
    to_tee = texts[-1] if "tee" in texts else ""
    target = next((expand_value(word, caller).text for word in command.redirects), "") or to_tee
    target = next((f"{name}.yaml" for name in ("kubectl", "compose") if name in texts[:2]), target)
    documents = [*caller.piped]
    for document in command.documents:
        filled = document.text if document.literal else here_document(document.text, caller)
        documents.append((filled, document.line))
    caller.piped = documents if command.piped and not target else []
    for text, line in documents if target.endswith(_WRITTEN) else ():
        caller.inputs.add(Source(f"{caller.source} ({target})", text, line))
    return [Word(text, line) for text, line in documents]


def _step(command: Command, caller: Caller) -> list[Invocation]:
    """The servers that a command starts."""
    documents = _note_documents(command, caller)
    words = [*dropwhile(lambda word: word.text in _KEYWORDS, command.words)]
    first, rest = words[0].text if words else "", words[1:]
    if first in _EXPORTING:
        exports = first in ("export", "setenv") or any(re.match(r"-\w*x", word.text) for word in rest[:2])
        for word in rest:
            _assign(word, caller, exports)
    elif all(word.items is not None or _ASSIGNMENT.fullmatch(word.text) for word in words):
        for word in words:
            _assign(word, caller, caller.exports_all)
    elif first == "read" and command.documents and words[-1].text.isidentifier():
        caller.assign(words[-1].text, caller.value(command.documents[0].text, words[-1].line))
    elif first in ("set", "unset", "for", "read"):
        _builtin(first, rest, caller)
    elif first in ("eval", "source", "."):
        return _read_inner(first, rest, caller)
    else:
        return run_command(_expanded(words, caller), caller, command.broken, next(iter(documents), None))
    return []


def _expanded(words: Iterable[Word], caller: Caller) -> list[Word]:
    return [one for word in words for one in expand(word, caller)]


def _assign(word: Word, caller: Caller, exports: bool) -> None:
    match, name = _ASSIGNMENT.fullmatch(word.text), word.text.rstrip("+=")
    if word.items is not None:
        before = caller.arrays.get(name, []) if "+=" in word.text else []
        caller.arrays[name] = [*before, *_expanded(word.items, caller)]
    elif match:
        whole, held = expand_value(word, caller), caller.variable(match[1]) if match[2] else None
        text = f"{held.value if held else ''}{whole.text.partition('=')[2]}"
        caller.assign(match[1], caller.value(text, word.line, whole.literal), exports)
    elif exports and not word.literal:  # export $(grep -v '^#' .env)
        caller.not_seen("sourced", word.text, word.line)
    elif exports and word.text in caller.assigned:
        caller.environment[word.text] = caller.assigned.pop(word.text)


def _builtin(name: str, words: Sequence[Word], caller: Caller) -> None:
    texts = [word.text for word in words]
    if name == "set":
        caller.exports_all = ("-a" in texts or "allexport" in texts) or (caller.exports_all and "+a" not in texts)
    for word in words if name == "read" else words[:1] if name == "for" else ():
        if word.text.isidentifier():
            caller.assign(word.text, caller.value("", word.line, literal=False))
    for text in texts if name == "unset" else ():
        caller.environment.pop(text, None)
        caller.assigned.pop(text, None)


def _read_inner(name: str, words: Sequence[Word], caller: Caller) -> list[Invocation]:
    """What ``eval TEXT`` or ``source FILE`` starts."""
    if not words:
        return []
    if name == "eval":
        return _read(" ".join(one.text for one in _expanded(words, caller)), words[0].line, caller)
    found = caller.inputs.find(words[0].text)
    if found:
        with placed(found):
            return _read(found.text, found.first_line, replace(caller, source=found.name))
    if not _SETS_NO_SETTING.search(words[0].text):
        caller.not_seen("sourced", words[0].text, words[0].line)
    return []


def run_command(
    words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]] = (), document: Word | None = None
) -> list[Invocation]:
    """What one command starts: a server, a shell or container that does, or nothing, but versions that it installs.

    ``document``: its standard input, where that is known.
    """
    for word in words:
        caller.note_versions(word.text, word.line)
    words, environment = _prefix(words, caller)
    caller = replace(caller, environment=environment)
    container = docker_run(words, caller)
    if container:
        return run_command(*container, broken)
    if document and reads_script(words, document.text):
        return _read(document.text, document.line, caller)
    script = script_in(words)
    if script is None:
        return _start(words, caller, broken)
    caller.image_serves = False
    # command: [sh, -c], args: [vllm, serve, …]
    as_arguments = words[words.index(script) :]
    return _read(script.text, script.line, caller) or _start(as_arguments, caller, [(script.line, "argument")])


def run_container(
    caller: Caller, image: str, line: int, command: Sequence[Word], arguments: Sequence[Word]
) -> list[Invocation]:
    """What a container runs. Where only its image knows, but it is handed LMCache's settings, it is a server unseen.

    ``caller.image_serves``: does the image, whatever its name, where no ``command`` stands in its place?
    """
    serves = caller.image_serves or is_server(image)
    caller.image_serves = serves and not command and bool(arguments)
    started = run_command([*command, *arguments], caller)
    if not started and any(name.startswith("LMCACHE_") for name in caller.environment):
        caller.not_seen("image", image, line)
        started = [caller.process(line)]
        started[0].unseen += caller.unseen[-1:]
        caller.given.servers += started
    return started


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


def _start(words: Sequence[Word], caller: Caller, broken: Sequence[tuple[int, str]]) -> list[Invocation]:
    """Add the server that a command starts, if it does."""
    found = server_start(words, caller.image_serves)
    if found is None:
        return []
    start, is_lmcache = found
    line = words[start - 1].line if start else (words[0].line if words else 0)
    process = caller.process(line)
    process.broken = [(caller.value("", number), cause) for number, cause in broken]
    read_options(words[start:], process)
    if is_lmcache:
        spell_out(process, known.server_options())
        caller.given.lmcache_servers.append(process)
        return [process]
    if any(word.text == "dynamo.vllm" for word in words[:start]):
        process.options.setdefault("connector", caller.value("", line, literal=False))
    merge_config(process, caller.inputs)
    caller.given.servers.append(process)
    return [process]
