"""Rules about sizes against what the manifest has: memory, /dev/shm, volumes; times ranks where they count per rank."""

from collections.abc import Iterator, Sequence
from typing import Any

from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Container, Given, Value
from kvtiers.lint.rules.mp import directories
from kvtiers.lint.setup import Facts, Setup, extra_of
from kvtiers.lint.values import raw_text
from kvtiers.units import GIB

_DEFAULT_SHM_GIB = 64 / 1024  # Docker's, and a Kubernetes pod's


def check(setups: Sequence[Setup], given: Given, facts: Facts) -> Iterator[Finding]:
    """Findings about every server: what it may take of its container, or of the machine where it has none."""
    memory = Value(facts.memory_gib, "", 0) if facts.memory_gib is not None else None
    machine = Container("", memory, host_ipc=True)
    for setup in setups:
        container = setup.server.container or machine
        region = offloaded(setup)
        if region:
            yield from _memory(container, *region)
            yield from _shm(container, *region)
        if setup.in_process and not setup.alone:
            yield from _in_process(setup, container)
    for server in given.lmcache_servers:
        container = server.container or machine
        l1 = server.options.get("l1-size-gb")
        sized = _sized(l1, l1.value) if l1 and l1.literal else None
        if sized:
            yield from _memory(container, *sized)
            if "shm-name" in server.options:
                yield from _shm(container, *sized)
        for place, path in directories(server):
            if container.lacks(path):
                yield at("l2_no_volume", place, path=path)


def offloaded(setup: Setup) -> tuple[Value, float] | None:
    """Where vLLM's own region is asked for, and its GiB, of all ranks together."""
    size = setup.option("kv-offloading-size")
    if size and setup.connector_name == "OffloadingConnector" and size.literal:
        return _sized(size, size.value)
    for connector in setup.connectors:
        if connector.get("kv_connector") == "OffloadingConnector" and setup.connector_at:
            return _sized(setup.connector_at, extra_of(connector).get("cpu_bytes_to_use"), GIB)
    return None


def _sized(place: Value, value: Any, unit: float = 1.0) -> tuple[Value, float] | None:
    try:
        return place, float(value) / unit
    except (OverflowError, TypeError, ValueError):
        return None


def _memory(container: Container, place: Value, size_gib: float, count: int = 1) -> Iterator[Finding]:
    limit = container.memory
    if limit and size_gib * count > limit.value:
        yield at("memory_exceeded", place, size_gib=size_gib, count=count, total=size_gib * count, limit=limit.value)


def _shm(container: Container, place: Value, size_gib: float) -> Iterator[Finding]:
    shm = container.shm.value if container.shm else _DEFAULT_SHM_GIB
    if not container.host_ipc and shm is not None and size_gib > shm:
        yield at("shm_too_small", place, size_gib=size_gib, shm_gib=shm)


def _in_process(setup: Setup, container: Container) -> Iterator[Finding]:
    size, disk = setup.get("max_local_cpu_size"), setup.settings.get("local_disk")
    place = setup.settings.get("max_local_cpu_size") or (container.memory if container.group else None)
    if place and isinstance(size, float) and setup.known_value("max_local_cpu_size"):
        yield from _memory(container, place, size, setup.workers)
    path, limit = raw_text(disk).removeprefix("file://"), setup.get("max_local_disk_size") or 0
    if disk and disk.literal and limit and container.lacks(path):
        total = limit * setup.workers
        yield at("disk_no_volume", disk, path=path, limit_gib=limit, workers=setup.workers, total=total)
