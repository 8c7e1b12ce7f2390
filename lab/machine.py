"""What this machine is, for the result file."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kvtiers.results import Machine


@dataclass(frozen=True)
class Mount:
    """Where a path is mounted."""

    file_system: str
    device: str
    device_number: str


def mount_of(path: Path) -> Mount:
    """The mount that holds ``path``, from /proc/self/mountinfo."""
    resolved = path.resolve()
    best, best_depth = Mount("unknown", "unknown", ""), -1
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        point = Path(fields[4].encode().decode("unicode_escape"))
        if resolved.is_relative_to(point) and len(point.parts) >= best_depth:
            file_system, device = after.split()[:2]
            best, best_depth = Mount(file_system, device, fields[2]), len(point.parts)
    return best


def describe(cache_root: Path) -> Machine:
    """CPU, memory, GPU, and the drive and file system below the cache directory."""
    mount = mount_of(cache_root)
    return Machine(
        cpu=_cpu_name(),
        cores=len(os.sched_getaffinity(0)),
        ram_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpu=gpu_name(),
        operating_system=f"{platform.system()} {platform.release()}",
        drive=_drive_name(mount),
        file_system=mount.file_system,
    )


def gpu_name() -> str:
    """The first NVIDIA GPU with its memory, or empty text where there is none."""
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout.strip() else ""


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
