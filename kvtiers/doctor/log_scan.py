"""Finds the few lines that matter in a block of a log without looking at the others one by one."""

import re
from collections.abc import Iterator

# What LMCache says that matters, right behind its level. The rest (a module found, a thread started) is passed over.
_LMCACHE = re.compile(
    rb"LMCache (?:WARNING:(?:\x1b\[0m)? (?!No LMCache conf|You can set the conf|Controller message)|ERROR|"
    rb"(?:INFO|DEBUG):(?:\x1b\[0m)? (?:Reqid|\[req_id|Creating LMCacheEngine with|"
    rb"Created b|Local disk|Initialized NONE|LMCache initialized|Retrieved|Stored|Prefetch request|<resume))"
)
# Lines of vLLM, and of tracebacks.
_NEEDLES = (
    b"cache hit rate: ",
    b"Error",
    b"v1 connector",
    b" LLM engine (v",
    b"KV cache size: ",
    b"KV load failure",
)


def telling_lines(block: bytes) -> Iterator[str]:
    """The lines of ``block`` that may say something, in order."""
    lines: dict[int, int] = {}
    end = 0
    for match in _LMCACHE.finditer(block):
        at = match.start()
        if at >= end:
            start = block.rfind(b"\n", end, at) + 1 or end
            end = _end(block, at)
            lines[start] = end
    for needle in _NEEDLES:
        at = block.find(needle)
        while at >= 0:
            end = _end(block, at)
            lines[block.rfind(b"\n", 0, at) + 1] = end
            at = block.find(needle, end)
    for start in sorted(lines):
        yield block[start : lines[start]].decode("utf-8", "replace")


def _end(block: bytes, at: int) -> int:
    end = block.find(b"\n", at)
    return len(block) if end < 0 else end
