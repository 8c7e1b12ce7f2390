"""Which program a command runs, and where its options begin: vLLM's server, LMCache's, a shell with a script."""

import re
from collections.abc import Sequence

from kvtiers.lint.command.shell import Word

_HANDS_ON = ("ssh", "tmux", "screen", "su", "runuser", "script", "docker", "podman", "kubectl", "systemd-run", "flock")
_STARTS = re.compile(r"\bvllm serve\b|\blmcache server\b|\bvllm\.entrypoints\.|\bdynamo\.vllm\b")
_SHELLS = ("bash", "sh", "zsh", "dash", "ash")


def shell_script(words: Sequence[Word]) -> Word | None:
    """What ``bash -lc SCRIPT`` runs."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in _SHELLS:
        return None
    for index, word in enumerate(words[1:], start=1):
        if re.fullmatch(r"-\w*c\w*", word.text):
            return next((word for word in words[index + 1 :] if not re.match(r"[-+]\w", word.text)), None)
        if not word.text.startswith(("-", "+")) and not words[index - 1].text.endswith("o"):
            return None
    return None


def handed_script(words: Sequence[Word]) -> Word | None:
    """What ``ssh HOST SCRIPT``, tmux and their like hand to a shell."""
    if not words or words[0].text.rsplit("/", 1)[-1] not in _HANDS_ON:
        return None
    return next((word for word in words[1:] if " " in word.text and _STARTS.search(word.text)), None)


def lmcache_start(words: Sequence[Word]) -> int | None:
    """After ``lmcache server`` or the module that it is."""
    for index, word in enumerate(words):
        if word.text.rsplit("/", 1)[-1] == "lmcache" and words[index + 1 : index + 2]:
            if words[index + 1].text == "server":
                return index + 2
        elif word.text.startswith("lmcache.v1.multiprocess."):
            return index + 1
    return None


def server_start(words: Sequence[Word], image_serves: bool) -> int | None:
    """Where the server's options begin: after ``vllm serve``, the API server's module, or a vLLM image."""
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        following = texts[index + 1 : index + 2] == ["serve"]
        if following and (text.rsplit("/", 1)[-1] == "vllm" or text.startswith("vllm.entrypoints.cli")):
            return index + 2
        if text == "dynamo.vllm" or (text.startswith("vllm.entrypoints") and "api_server" in text):
            return index + 1
        if text.endswith("vllm/entrypoints/openai/api_server.py"):
            return index + 1
    if not image_serves:
        return None
    return 1 if texts[:1] == ["serve"] else 0
