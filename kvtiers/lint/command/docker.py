"""``docker run``, ``podman run``, ``nerdctl run``: options, image and what runs in it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.programs import is_server, program
from kvtiers.lint.command.shell import Word
from kvtiers.lint.given import Container, Value
from kvtiers.units import GIB

_SWITCHES = re.compile(
    r"-[ditP]+$|--(?:rm|detach|interactive|tty|privileged|init|read-only|publish-all|oom-kill-disable|no-healthcheck"
    r"|replace|tls-verify|quiet|rmi|rootfs)(?:=.*)?$"
)
_LONG = {"-e": "--env", "-p": "--publish", "-v": "--volume", "-m": "--memory", "--net": "--network"}
_OF_VLLM_ALONE = ("--kv-transfer-config", "--max-model-len")


def docker_run(words: Sequence[Word], caller: Caller) -> tuple[list[Word], Caller] | None:
    """What a container runs, and what reaches it there; None where the command is no ``docker run``."""
    begin = next((index for index, word in enumerate(words[:4]) if word.text in ("run", "create")), None)
    if begin is None or program(words) not in ("docker", "podman", "nerdctl"):
        return None
    options, end = _options(words, begin + 1)
    if end >= len(words):
        return None
    image, arguments = words[end], words[end + 1 :]
    entrypoint = [word for name, word in options if name == "--entrypoint"][:1]
    inside = replace(caller, environment={}, assigned={}, arrays={}, unseen=[], versions={})
    inside.container = _container(options, caller, words[0].line)
    # an image that nobody knows serves where it gets what only vLLM's server takes
    serves = is_server(image.text) or any(word.text.startswith(_OF_VLLM_ALONE) for word in arguments)
    inside.image_serves = serves and not entrypoint
    for word in (image, *arguments):
        inside.note_versions(word.text, word.line)
    for option, word in options:
        name, equals, text = word.text.partition("=")
        if option == "--env-file":
            inside.read_variables(word.text, word.line)
        elif option == "--env" and equals:
            inside.environment[name] = inside.value(text, word.line, word.literal)
        elif option == "--env" and name in caller.environment:  # -e NAME takes it from whoever calls
            inside.environment[name] = caller.environment[name]
        elif option == "--env" and name in caller.assigned:
            inside.assigned[name] = caller.assigned[name]
        elif option == "--env":
            inside.environment[name] = inside.value("", word.line, literal=False)
    return [*entrypoint, *arguments], inside


def _options(words: Sequence[Word], index: int) -> tuple[list[tuple[str, Word]], int]:
    """Long names with their values, and where the image stands."""
    options = []
    while index < len(words) and words[index].text.startswith("-"):
        word, index = words[index], index + 1
        if _SWITCHES.match(word.text):
            continue
        name, joined, value = word.text.partition("=")
        if not name.startswith("--"):
            name, joined, value = word.text[:2], word.text[2:], word.text[2:]
        if joined:
            word = Word(value, word.line, word.literal)
        elif index < len(words):
            word, index = words[index], index + 1
        options.append((_LONG.get(name, name), word))
    return options, index


def _container(options: Sequence[tuple[str, Word]], caller: Caller, line: int) -> Container:
    last = {name: word.text for name, word in options}
    sizes = {name: docker_size(caller, word.text, word.line) for name, word in options if word.literal}
    ipc = last.get("--ipc", "")
    return Container(
        ipc.removeprefix("container:") if ipc.startswith("container:") else f"{caller.source}:{line}",
        memory=sizes.get("--memory"),
        shm=sizes.get("--shm-size"),
        host_network=last.get("--network") == "host",
        host_ipc=ipc == "host",
        published=[word.text for name, word in options if name == "--publish"],
        volumes={mount_path(word.text): None for name, word in options if name in ("--volume", "--mount", "--tmpfs")},
    )


def docker_size(caller: Caller, text: Any, line: int) -> Value | None:
    """In GiB: ``64m``, ``16gb``, a number of bytes, binary whatever is written; None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)i?b?", str(text).strip().lower())
    gib = float(match[1]) * 1024.0 ** " kmgtp".index(match[2] or " ") / GIB if match else 0
    return caller.value(gib, line) if gib else None


def mount_path(text: str) -> str:
    """Where a volume lies in the container: ``-v HOST:PATH:ro``, ``--mount type=…,target=PATH``, a path alone."""
    target = re.search(r"(?:target|dst|destination)=([^,]+)", text)
    parts = [part for part in text.split(":") if part not in ("ro", "rw", "z", "Z")]
    return target[1] if target else parts[min(1, len(parts) - 1)] if parts else ""
