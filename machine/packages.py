"""The system's package manager: the one line that brings what is missing, and, as root with apt, running it."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from machine import MachineError
from machine.needs import Need

_INSTALL = {
    "apt": ("apt-get", "install -y --no-install-recommends"),
    "dnf": ("dnf", "install -y"),
    "pacman": ("pacman", "-S --needed --noconfirm"),
}


def manager() -> str:
    """``apt``, ``dnf`` or ``pacman``; empty text where there is none of them."""
    return next((name for name, (program, _) in _INSTALL.items() if shutil.which(program)), "")


def is_root() -> bool:
    """May this process install packages?"""
    return os.geteuid() == 0


def install_line(needs: Sequence[Need], name: str, root: bool) -> str:
    """What to type, in one line, with package manager ``name``; in words where that is empty."""
    packages = " ".join(dict.fromkeys(need.packages[name or "apt"] for need in needs))
    if not name:
        return f"the system's own package manager; Debian's names are: {packages}"
    if not root and not shutil.which("sudo"):
        return f"as root: {install_line(needs, name, root=True)}"
    sudo = "" if root else "sudo "
    update = f"{sudo}apt-get update && " if name == "apt" else ""
    return f"{update}{sudo}{' '.join(_INSTALL[name])} {packages}"


def listed(needs: Sequence[Need], command: str) -> str:
    """Everything missing, and the line that brings it."""
    wanted = ", ".join(need.what for need in needs)
    return f"make {command} needs, and this system lacks: {wanted}\nThis brings it: {_line(needs)}"


def bring(needs: Sequence[Need], command: str) -> None:
    """Install all of ``needs`` where that may be done unasked: as root, with apt.

    Raises:
        MachineError: it may not be done, or failed; the message says what to type.
    """
    if manager() != "apt" or not is_root():
        raise MachineError(listed(needs, command))
    print(f"{listed(needs, command)}\nrunning that (root)", flush=True)
    done = subprocess.run(
        ["sh", "-c", _line(needs)],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,  # the rest is shown as it comes: it takes minutes
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.splitlines()
        reasons = [line for line in said if line.startswith("E:")][:2] or said[-2:]  # without a network: hundreds
        raise MachineError(f"that failed: {' '.join(reasons)}\nPut it right, and run make {command} again.")


def _line(needs: Sequence[Need]) -> str:
    return install_line(needs, manager(), is_root())
