"""Which program a command runs, and where its options begin: vLLM's server, LMCache's, a shell with a script."""

import re
from collections.abc import Sequence

from kvtiers.lint.command.shell import Word

_HANDS_ON = ("ssh", "tmux", "screen", "su", "runuser", "script", "docker", "podman", "kubectl", "systemd-run", "flock")
_STARTS = re.compile(r"\bvllm serve\b|\blmcache server\b|\bvllm\.entrypoints\.|\bdynamo\.vllm\b")
_SERVER = re.compile(r"(?:^|/)(?:vllm-openai[\w-]*|vllm-cpu[\w-]*|vllm-tpu|vllm-rocm|vllm)(?=[:@]|$)")
_SHELLS = ("bash", "sh", "zsh", "dash", "ash")


def program(words: Sequence[Word]) -> str:
    """The name of what a command runs, without its folder."""
    return words[0].text.rsplit("/", 1)[-1] if words else ""


def script_in(words: Sequence[Word]) -> Word | None:
    """What ``bash -lc SCRIPT`` runs, srun or whatever before it, or ``ssh HOST SCRIPT``, tmux and their like."""
    if program(words) in _HANDS_ON:
        return next((word for word in words[1:] if " " in word.text and _STARTS.search(word.text)), None)
    shell = next((index for index in range(len(words)) if program(words[index:]) in _SHELLS), len(words))
    for index, word in enumerate(words[shell + 1 :], start=shell + 1):
        if re.fullmatch(r"-\w*c\w*", word.text):
            return next((word for word in words[index + 1 :] if not re.match(r"[-+]\w", word.text)), None)
        if not word.text.startswith(("-", "+")) and not words[index - 1].text.endswith("o"):
            return None
    return None


def reads_script(words: Sequence[Word], text: str) -> bool:
    """Does it run ``text``, its standard input, as ``bash <<EOF`` or ``ssh HOST <<EOF`` do?"""
    plain = [word for word in words if not word.text.startswith("-")]
    return program(plain[-1:]) in _SHELLS or (program(words) == "ssh" and bool(_STARTS.search(text)))


def is_server(image: str) -> bool:
    """Is it an image that serves with vLLM by itself?"""
    return bool(_SERVER.search(image)) and "nvcr.io" not in image


def server_start(words: Sequence[Word], image_serves: bool) -> tuple[int, bool] | None:
    """Where a server's options begin, and whether it is LMCache's: after its command, its module, or a vLLM image."""
    texts = [word.text for word in words]
    pairs = [*enumerate(zip(texts, [*texts, ""][1:], strict=True), start=1)]
    for after, (text, following) in pairs:
        if text.rsplit("/", 1)[-1] == "lmcache" and following == "server":
            return after + 1, True
        if text.startswith("lmcache.v1.multiprocess."):
            return after, True
    for after, (text, following) in pairs:
        if following == "serve" and (text.rsplit("/", 1)[-1] == "vllm" or text.startswith("vllm.entrypoints.cli")):
            return after + 1, False
        module = text == "dynamo.vllm" or (text.startswith("vllm.entrypoints") and "api_server" in text)
        if module or text.endswith("vllm/entrypoints/openai/api_server.py"):
            return after, False
    return (int(texts[:1] == ["serve"]), False) if image_serves else None
