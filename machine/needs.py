"""What only the operating system can bring: how each is seen, which package brings it, which commands want it."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from machine.commands import COMMANDS, WITH_CHROMIUM, WITH_ENGINE, WITH_FONTS

_TEST = frozenset({"test"})
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LIBRARIES = (Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/libexec"))
_FONTS = tuple(
    Path(os.path.expanduser(place)) for place in ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts")
)


@dataclass(frozen=True)
class Need:
    """One thing. ``packages``: by package manager, several parted by a space; empty where it brings none.

    ``engine``: only with this one; empty text: with any.
    """

    what: str
    is_there: Callable[[], bool]
    packages: Mapping[str, str]
    commands: frozenset[str]
    engine: str = ""


def _any_program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def _can_make_environments() -> bool:
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def _has_libnuma() -> bool:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        return False
    return True


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


NEEDS = (
    Need(
        "Python's venv and ensurepip",
        _can_make_environments,
        {"apt": f"{_PYTHON}-venv", "dnf": "python3-libs", "pacman": "python"},
        COMMANDS,
    ),
    Need(
        "libnuma.so.1 (vLLM's CPU build links it)",
        _has_libnuma,
        {"apt": "libnuma1", "dnf": "numactl-libs", "pacman": "numactl"},
        WITH_ENGINE,
        "cpu",
    ),
    Need(
        "lscpu (vLLM's CPU backend asks it)",
        _any_program("lscpu"),
        {"apt": "util-linux", "dnf": "util-linux", "pacman": "util-linux"},
        WITH_ENGINE,
        "cpu",
    ),
    Need(
        "a C compiler (Triton builds its launchers with it)",
        _any_program("gcc", "cc", "clang"),
        {"apt": "gcc libc6-dev", "dnf": "gcc", "pacman": "gcc"},
        WITH_ENGINE,
        "cuda",
    ),
    Need(
        "Python.h (Triton's launchers include it)",
        _has_headers,
        {"apt": f"{_PYTHON}-dev", "dnf": "python3-devel", "pacman": "python"},
        WITH_ENGINE,
        "cuda",
    ),
    Need(
        "Chromium",
        _any_program("chromium", "google-chrome", "chromium-browser"),
        {"apt": "chromium", "dnf": "chromium", "pacman": "chromium"},
        WITH_CHROMIUM,
    ),
    Need(
        "Chinese fonts",
        _has_chinese_fonts,
        {"apt": "fonts-noto-cjk", "dnf": "google-noto-sans-cjk-fonts", "pacman": "noto-fonts-cjk"},
        WITH_FONTS,
    ),
    Need(
        "Firefox",
        _any_program("firefox-esr", "firefox"),
        {"apt": "firefox-esr", "dnf": "firefox", "pacman": "firefox"},
        _TEST,
    ),
    Need(
        "WebKitWebDriver and MiniBrowser",
        _has_webkit,
        {"apt": "webkit2gtk-driver", "dnf": "webkitgtk6.0 webkitgtk6.0-devel", "pacman": "webkitgtk-6.0"},
        _TEST,
    ),
    Need(
        "Xvfb (a screen for MiniBrowser)",
        _any_program("Xvfb"),
        {"apt": "xvfb", "dnf": "xorg-x11-server-Xvfb", "pacman": "xorg-server-xvfb"},
        _TEST,
    ),
)


def missing(command: str, engine: str) -> list[Need]:
    """All that ``command`` with ``engine`` wants and this machine lacks."""
    wanted = (need for need in NEEDS if command in need.commands and need.engine in ("", engine))
    return [need for need in wanted if not need.is_there()]
