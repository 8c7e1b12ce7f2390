"""What is mounted where, from /proc/self/mountinfo. Nothing is, where there is no such file."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mount:
    """One mount. ``root`` is the directory inside the file system that is seen at ``point``."""

    point: Path
    root: str
    file_system: str
    device: str
    device_number: str
    options: frozenset[str]


def mounts(system: Path = Path("/")) -> Iterator[Mount]:
    """All mounts, later ones over earlier ones. ``system``: another root directory, for tests."""
    table = system / "proc/self/mountinfo"
    if not table.is_file():
        return
    for line in table.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        number, root, point = before.split()[2:5]
        file_system, device, *options = after.split()
        yield Mount(
            Path(_plain(point)), _plain(root), file_system, device, number, frozenset("".join(options).split(","))
        )


def mount_of(path: Path) -> Mount:
    """The mount that holds ``path``."""
    resolved = path.resolve()
    best = Mount(Path("/"), "/", "unknown", "unknown", "", frozenset())
    for mount in mounts():
        if resolved.is_relative_to(mount.point) and len(mount.point.parts) >= len(best.point.parts):
            best = mount
    return best


def _plain(name: str) -> str:
    """The kernel writes a space as \\040."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        name = name.replace(code, character)
    return name
