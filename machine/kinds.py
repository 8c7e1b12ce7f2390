"""Which kinds of machine each command runs on. A kind nobody has run is said to be so, never promised."""

import platform
from dataclasses import dataclass
from pathlib import Path

from machine import MachineError
from machine.commands import WITH_ENGINE
from machine.pythons import dotted

# The oldest glibc that the wheels of a lock are built for, by processor; tests/machine/test_locks.py resolves them so.
PROJECT_GLIBC = (2, 28)
ENGINE_GLIBC = {
    ("cpu", "x86_64"): (2, 31),
    ("cpu", "aarch64"): (2, 31),
    ("cuda", "x86_64"): (2, 31),
    ("cuda", "aarch64"): (2, 34),
}
RESOLVED = "every package has a wheel for it (resolved, not run)"


@dataclass(frozen=True)
class MachineKind:
    """A machine. ``glibc`` is None on a Linux with another C library; ``avx2`` is asked of x86_64 only."""

    system: str
    processor: str
    glibc: tuple[int, ...] | None
    avx2: bool


def this_kind() -> MachineKind:
    """The machine this runs on."""
    library, version = platform.libc_ver()
    glibc = tuple(int(part) for part in version.split(".")) if library == "glibc" else None
    return MachineKind(platform.system(), platform.machine(), glibc, _has_avx2())


def remark(kind: MachineKind, command: str, engine: str) -> str:
    """What to know about ``command`` on this kind of machine; empty text where it is what we run ourselves.

    Raises:
        MachineError: it cannot run here; the message says where it can.
    """
    with_engine = command in WITH_ENGINE
    if kind.system == "Windows":
        raise MachineError("Windows: all of this wants a Unix. Install WSL2 (wsl --install) and run make there")
    if kind.system == "Darwin":
        if with_engine:
            raise MachineError(f"macOS: make {command} starts a real engine, which wants Linux: use a Linux container")
        return f"macOS: {RESOLVED}"
    if kind.system != "Linux":
        raise MachineError(f"{kind.system}: nothing here was made for it; use Linux")
    if kind.processor not in ("x86_64", "aarch64"):
        raise MachineError(f"Linux on {kind.processor}: the packages have wheels for x86_64 and aarch64 only")
    oldest = ENGINE_GLIBC[engine, kind.processor] if with_engine else PROJECT_GLIBC
    if kind.glibc is None:
        raise MachineError(
            "musl (Alpine): the packages' wheels are for glibc; use a Debian, Ubuntu or Fedora container"
        )
    if kind.glibc < oldest:
        raise MachineError(f"glibc {dotted(kind.glibc)}: the wheels need {dotted(oldest)}; use Debian 12, or newer")
    # Tried in an emulator: as a Nehalem, without AVX2, vLLM stops at an illegal instruction; as a Haswell it runs.
    if with_engine and engine == "cpu" and kind.processor == "x86_64" and not kind.avx2:
        raise MachineError("this CPU has no AVX2: vLLM's CPU build has kernels for AVX2 and AVX-512 only")
    return f"Linux on aarch64: {RESOLVED}" if kind.processor == "aarch64" else ""


def _has_avx2() -> bool:
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
