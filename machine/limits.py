"""How much of this machine we may use: compute threads and memory, by affinity, control groups (v1 and v2) and RAM.

A container sees all cores and all memory of its host; only its control group tells which part is its own.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from machine.mounts import mounts

SYSTEM = Path("/")


def usable_threads(system: Path = SYSTEM) -> int:
    """Threads that can run at once: cores of this process's affinity, cut to the CPU quota; at least 1."""
    return max(1, int(min([_cores(), *_quotas(system)])))


def memory_limit_bytes(system: Path = SYSTEM) -> int | None:
    """Memory that this process may ever have: its control groups' limit, or the RAM. None where nothing tells."""
    ram = _meminfo(system).get("MemTotal") or _ram()
    return min(filter(None, [ram, *(limit for _, limit in _memory_groups(system))]), default=None)


def available_memory_bytes(system: Path = SYSTEM) -> int | None:
    """Memory that could be had now, without pushing anything but file pages out. None where nothing tells."""
    free = _meminfo(system).get("MemAvailable")
    rooms = [max(0, limit - _held(group)) for group, limit in _memory_groups(system)]
    return min([*rooms, *([free] if free is not None else [])], default=None)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def _ram() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return None


def _meminfo(system: Path) -> dict[str, int]:
    try:
        lines = (system / "proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split()[:2] for line in lines)
    return {name.rstrip(":"): int(kib) * 1024 for name, kib in pairs}


def _quotas(system: Path) -> Iterator[float]:
    """CPU quotas of this process's groups, in cores."""
    v2 = [_words(group / "cpu.max").partition(" ")[::2] for group in _groups(system, "")]
    v1 = [(_words(group / "cpu.cfs_quota_us"), _words(group / "cpu.cfs_period_us")) for group in _groups(system, "cpu")]
    for quota, period in (*v2, *v1):
        if quota.isdigit() and period.isdigit():  # none is "max" in v2, "-1" in v1
            yield int(quota) / int(period)


def _memory_groups(system: Path) -> Iterator[tuple[Path, int]]:
    """Groups that limit this process's memory, with their limits."""
    for controller, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
        for group in _groups(system, controller):
            limit = _words(group / name)
            # "max" in v2; in v1 the largest multiple of a page below 2**63.
            if limit.isdigit() and int(limit) < 2**62:
                yield group, int(limit)


def _held(group: Path) -> int:
    """Bytes the group uses, without file pages that the kernel would give up."""
    used = _words(group / "memory.current") or _words(group / "memory.usage_in_bytes")
    stat = dict(line.split() for line in _words(group / "memory.stat").splitlines())
    files = [int(stat[name]) for name in ("total_inactive_file", "total_active_file") if name in stat]
    files = files or [int(stat[name]) for name in ("inactive_file", "active_file") if name in stat]
    return int(used or 0) - sum(files)


def _groups(system: Path, controller: str) -> Iterator[Path]:
    """This process's group and those above it, under each place where the hierarchy is mounted.

    ``controller``: of a v1 hierarchy; empty text for v2.
    """
    wanted = _own_path(system, controller)
    if wanted is None:
        return
    for mount in mounts(system):
        v2 = mount.file_system == "cgroup2"
        if v2 if not controller else mount.file_system == "cgroup" and controller in mount.options:
            top = system / mount.point.relative_to("/")
            # A container's mount may show its own group as the top: /proc then names a path that is not below it.
            inside = wanted.removeprefix(mount.root.rstrip("/")).strip("/")
            group = top / inside if ".." not in inside and (top / inside).is_dir() else top
            yield from (group, *(parent for parent in group.parents if parent.is_relative_to(top)))


def _own_path(system: Path, controller: str) -> str | None:
    for line in _words(system / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return None


def _words(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
