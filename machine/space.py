"""Space on the drive: what each command sets up, how large it grows, and how much of it is there already."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from machine import MachineError
from machine.commands import COMMANDS, WITH_ENGINE, WITH_FONTS

REPOSITORY = Path(__file__).resolve().parent.parent
_GB = 10**9
# What the CPU engine takes more with torch's default build, which brings its CUDA libraries.
CUDA_TORCH_BYTES = 7 * _GB


@dataclass(frozen=True)
class Footprint:
    """Something set up below the clone. ``needed_bytes``: all of it, with what is downloaded on the way.

    ``stamp``: the file that says it is complete. ``engine``: only with this one; empty text: with any.
    """

    what: str
    directories: tuple[str, ...]
    needed_bytes: int
    stamp: str
    commands: frozenset[str]
    engine: str = ""


# du of each on Linux x86_64 with Python 3.11, rounded up, and for the engines pip's downloads beside it.
FOOTPRINTS = (
    Footprint("the project's environment", (".venv",), 1_300_000_000, ".venv/complete", COMMANDS),
    Footprint("the course", ("site/.cache", "site/dist"), 900_000_000, "site/dist/index.html", WITH_FONTS),
    Footprint("the CPU engine", (".lab/engine-cpu",), 4 * _GB, ".lab/engine-cpu/complete.json", WITH_ENGINE, "cpu"),
    Footprint(
        "the CUDA engine", (".lab/engine-cuda",), 17 * _GB, ".lab/engine-cuda/complete.json", WITH_ENGINE, "cuda"
    ),
)

# Directories outside the clone that have no setting to be elsewhere.
SHARED_MEMORY = Path("/dev/shm")
ENGINE_DIRECTORIES = {
    Path("/tmp"): "LMCache keeps its counters below /tmp",
    SHARED_MEMORY: "their processes share memory",
}
# LMCache's server shares no less with an engine on a CPU; Docker gives a container 64 MiB.
_SHARED_BYTES = 512 * 1024**2


def complaint(command: str, engine: str, clone: Path = REPOSITORY) -> str:
    """What does not fit on the clone's drive, in one line; empty text where all of it does."""
    wanted = [
        footprint for footprint in FOOTPRINTS if command in footprint.commands and footprint.engine in ("", engine)
    ]
    needed = {footprint.what: _left_to_bring(footprint, clone) for footprint in wanted}
    free = shutil.disk_usage(clone).free
    if sum(needed.values()) <= free:
        return ""
    parts = ", ".join(f"{what} {size / _GB:.1f} GB" for what, size in needed.items() if size)
    return f"make {command} sets up {parts}; {clone} has {free / _GB:.1f} GB free: make room there"


def unwritable(command: str) -> str:
    """Which directory outside the clone an engine can't write to, in one line; empty text where there is none."""
    for directory, why in ENGINE_DIRECTORIES.items() if command in WITH_ENGINE else ():
        if not os.access(directory, os.W_OK | os.X_OK):
            fault = "can't be written to" if directory.is_dir() else "does not exist"
            return f"make {command} starts real engines: {why}, and {directory} {fault}: mount it for this user"
    return ""


def unshared(command: str, engine: str) -> str:
    """What processes lack of memory to share, in one line; empty text where there is enough."""
    if command not in WITH_ENGINE or engine != "cpu" or not SHARED_MEMORY.is_dir():
        return ""
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free >= _SHARED_BYTES:
        return ""
    return (
        f"make {command} starts processes that share {_SHARED_BYTES >> 20} MiB; {SHARED_MEMORY} has {free >> 20} MiB "
        "free: give it more (a container: --shm-size 1g)"
    )


def remark(command: str, engine: str, clone: Path = REPOSITORY) -> str:
    """What may turn out not to fit, in one line; empty text where all of it does."""
    footprint = next(footprint for footprint in FOOTPRINTS if footprint.engine == "cpu")
    if engine != "cpu" or command not in footprint.commands:
        return ""
    free, left = shutil.disk_usage(clone).free, _left_to_bring(footprint, clone)
    if not left or free >= left + CUDA_TORCH_BYTES:
        return ""
    return (
        f"the CPU engine takes {footprint.needed_bytes / _GB:.0f} GB, "
        f"{(footprint.needed_bytes + CUDA_TORCH_BYTES) / _GB:.0f} GB where pip finds no CPU build of torch; "
        f"{free / _GB:.1f} GB are free"
    )


def require_space(what: str, needed_bytes: float, directory: Path) -> None:
    """Refuse before anything is written; what lies in ``directory`` already counts.

    Raises:
        MachineError: its drive has less.
    """
    drive = next(place for place in (directory, *directory.parents) if place.exists())
    free, wanted = shutil.disk_usage(drive).free, needed_bytes - _size_bytes(directory)
    if free < wanted:
        raise MachineError(
            f"{what} takes {wanted / _GB:.1f} GB; {directory} has {free / _GB:.1f} GB free: make room there"
        )


def engine_bytes(engine: str) -> int:
    """What setting this engine up takes."""
    return next(footprint.needed_bytes for footprint in FOOTPRINTS if footprint.engine == engine)


def _left_to_bring(footprint: Footprint, clone: Path) -> int:
    if (clone / footprint.stamp).is_file():
        return 0
    return max(0, footprint.needed_bytes - sum(_size_bytes(clone / name) for name in footprint.directories))


def _size_bytes(directory: Path) -> int:
    return sum(file.lstat().st_size for file in directory.rglob("*"))
