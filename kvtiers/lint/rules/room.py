"""Rules about sizes against what the manifest has: memory, /dev/shm, volumes; times ranks where they count per rank."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Container, Given, Invocation, Value
from kvtiers.lint.rules.mp import directories
from kvtiers.lint.setup import Facts, Setup, extra_of
from kvtiers.lint.values import raw_text
from kvtiers.units import GIB

_REGION = ("--kv-offloading-size", "cpu_bytes_to_use")  # of vLLM's own offloading, which lies in /dev/shm
_DEFAULT_SHM_GIB = 64 / 1024  # Docker's, and a Kubernetes pod's


class _Ask(NamedTuple):
    """Memory for KV, GiB: ``size`` for each of ``ranks``. Of two with one ``name`` and ``port`` only one can run."""

    server: Invocation
    container: Container
    port: int | None
    name: str
    place: Value
    size: float
    ranks: int = 1


def check(setups: Sequence[Setup], given: Given, facts: Facts) -> Iterator[Finding]:
    """Findings about every server: what it may take of its container, or of the machine where it has none."""
    memory = Value(facts.memory_gib, "", 0) if facts.memory_gib is not None else None
    machine = Container("", memory, host_ipc=True)
    asks = [ask for setup in setups for ask in _engine(setup, setup.server.container or machine)]
    asks += [ask for server in given.lmcache_servers for ask in _lmcache_server(server, server.container or machine)]
    yield from _memory(asks)
    for ask in asks:
        if ask.name in _REGION or "shm-name" in ask.server.options:
            yield from _shm(ask)
    for setup in setups:
        if setup.in_process and not setup.alone:
            yield from _disk(setup, setup.server.container or machine)
    for server in given.lmcache_servers:
        for place, path in directories(server):
            if server.container and server.container.lacks(path):
                yield at("l2_no_volume", place, path=path)


def _engine(setup: Setup, container: Container) -> Iterator[_Ask]:
    port, region = setup.server.number("port"), offloaded(setup)
    if region:
        yield _Ask(setup.server, container, port, _REGION["kv-offloading-size" not in setup.server.options], *region)
    size, own = setup.get("max_local_cpu_size"), setup.settings.get("max_local_cpu_size")
    place = own or (container.memory if container.group else None)
    runs = setup.in_process and not setup.alone and setup.known_value("max_local_cpu_size")
    if runs and place and isinstance(size, float):
        yield _Ask(setup.server, container, port, "max_local_cpu_size", place, size, setup.workers)


def _lmcache_server(server: Invocation, container: Container) -> Iterator[_Ask]:
    l1 = server.options.get("l1-size-gb")
    sized = _sized(l1, l1.value) if l1 and l1.literal else None
    if sized:
        yield _Ask(server, container, server.number("port"), "--l1-size-gb", *sized)


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


def _memory(asks: Sequence[_Ask]) -> Iterator[Finding]:
    """What those in one container, or of one file on the machine, ask for together."""
    places: dict[tuple[int, str], dict[tuple[str, int | None], _Ask]] = {}
    for ask in sorted(asks, key=lambda ask: ask.size * ask.ranks):
        places.setdefault((id(ask.container), ask.server.source), {})[ask.name, ask.port] = ask
    for together in places.values():
        *_, most = together.values()
        limit, total = most.container.memory, sum(ask.size * ask.ranks for ask in together.values())
        if limit and total > limit.value:
            asked = " + ".join(f"{ask.name} {ask.size:,g} GiB{_times(ask.ranks)}" for ask in together.values())
            yield at("memory_exceeded", most.place, asked=asked, total=total, limit=limit.value)


def _times(ranks: int) -> str:
    return f" x {ranks}" if ranks > 1 else ""


def _shm(ask: _Ask) -> Iterator[Finding]:
    shm = ask.container.shm.value if ask.container.shm else _DEFAULT_SHM_GIB
    if not ask.container.host_ipc and shm is not None and ask.size > shm:
        yield at("shm_too_small", ask.place, name=ask.name, size_gib=ask.size, shm_gib=shm)


def _disk(setup: Setup, container: Container) -> Iterator[Finding]:
    disk = setup.settings.get("local_disk")
    path, limit = raw_text(disk).removeprefix("file://"), setup.get("max_local_disk_size") or 0
    if disk and disk.literal and limit and container.lacks(path):
        total = limit * setup.workers
        yield at("disk_no_volume", disk, path=path, limit_gib=limit, workers=setup.workers, total=total)
