"""What only the operating system can bring: how it is seen, which package brings it, which commands want it."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import commands

_LIBRARIES = (Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/libexec"))
_FONTS = tuple(
    Path(os.path.expanduser(place)) for place in ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts")
)


@dataclass(frozen=True)
class Need:
    """One thing, an entry of needs.toml. ``packages``: by package manager, several parted by a space; ``engine``: only
    with this one; empty text: with any."""

    what: str
    packages: Mapping[str, str]
    commands: frozenset[str]
    programs: tuple[str, ...] = ()
    seen: str = ""
    engine: str = ""

    def is_there(self) -> bool:
        """Does this machine have it?"""
        return any(map(shutil.which, self.programs)) or (self.seen in _SEEN and _SEEN[self.seen]())


def _can_make_environments() -> bool:
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def _has_libnuma() -> bool:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        return False
    return True


def _has_compiler() -> bool:
    """As Triton looks for one."""
    named = os.environ.get("CC")
    return any(map(shutil.which, ("gcc", "clang") if named is None else (named,)))


def _has_headers() -> bool:
    return (Path(sysconfig.get_path("include")) / "Python.h").is_file()


def _has_chinese_fonts() -> bool:
    """Asks fontconfig; without it, looks for the names that such fonts' files have. A Mac brings PingFang."""
    if sys.platform == "darwin":
        return True
    try:
        listed = subprocess.run(["fc-list", ":lang=zh-tw"], capture_output=True, text=True, check=False)
    except OSError:
        names = ("*CJK*", "*[Ww]en[Qq]uan*", "uming*", "ukai*")
        return any(True for fonts in _FONTS for name in names for _ in fonts.rglob(name))
    return bool(listed.stdout.strip())


def mini_browser() -> Path | None:
    """WebKitGTK's small browser, which is not on PATH: it lies with WebKit's other programs. The newest of several."""
    return max((program for top in _LIBRARIES for program in top.glob("**/webkit*gtk-*/MiniBrowser")), default=None)


def _has_webkit() -> bool:
    return shutil.which("WebKitWebDriver") is not None and mini_browser() is not None


_SEEN = {
    "environments": _can_make_environments,
    "libnuma": _has_libnuma,
    "compiler": _has_compiler,
    "headers": _has_headers,
    "chinese_fonts": _has_chinese_fonts,
    "webkit": _has_webkit,
}


def _read(entry: dict[str, Any]) -> Need:
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = {name: entry.pop(name).format(python=python) for name in ("apt", "dnf", "pacman")}
    return Need(**entry | {"packages": packages, "commands": getattr(commands, entry["commands"])})


NEEDS = tuple(map(_read, tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["need"]))


def missing(command: str, engine: str) -> list[Need]:
    """All that ``command`` with ``engine`` wants and this machine lacks."""
    wanted = (need for need in NEEDS if command in need.commands and need.engine in ("", engine))
    return [need for need in wanted if not need.is_there()]
