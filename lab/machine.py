"""What this machine is, for the result file."""

import platform
from pathlib import Path

from kvtiers.result.schema import Host
from machine.gpu import Card
from machine.limits import memory_limit_bytes, usable_threads
from machine.mounts import Mount, mount_of


def describe(cache_root: Path, gpu: Card | None) -> Host:
    """CPU and memory as far as we may use them, the GPU that is used, and the drive below the cache directory."""
    mount = mount_of(cache_root)
    return Host(
        cpu=_cpu_name(),
        cores=usable_threads(),
        ram_bytes=memory_limit_bytes() or 0,
        gpu=str(gpu or ""),
        operating_system=f"{platform.system()} {platform.release()}",
        drive=_drive_name(mount),
        file_system=mount.file_system,
    )


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _drive_name(mount: Mount) -> str:
    """The device and, where the kernel knows it, its model; a partition's model stands at its parent."""
    block = Path("/sys/dev/block") / mount.device_number
    for directory in (block, block / ".."):
        model = directory / "device" / "model"
        if model.is_file():
            return f"{mount.device} ({model.read_text().strip()})"
    return mount.device
