"""The pictures that a link to a lesson shows where it is shared: the lesson's first chart as PNG."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import resvg_py

WIDTH, HEIGHT, MARGIN = 1200, 630, 60
CHART = re.compile(r'<svg\b[^>]*role="img"[^>]*viewbox="([\d. ]+)"[^>]*>(.*?)</svg>', re.DOTALL)
INK = "#1b1f24"


def write_pictures(saved: Mapping[tuple[str, str], str], default: Path, out: Path) -> dict[tuple[str, str], str]:
    """Draw the first chart of each saved view into `out`, beside `default`, the picture of pages without a chart.

    Returns the file names. Without a font for Chinese on this machine, the English chart stands for both.
    """
    out.mkdir()
    shutil.copy(default, out / "course.png")
    names = {}
    for (language, notebook), view in saved.items():
        chart = CHART.search(view if _can_write(language) else saved["en", notebook])
        if chart:
            name = names[language, notebook] = f"{language}-{notebook.replace('_', '-')}.png"
            (out / name).write_bytes(resvg_py.svg_to_bytes(svg_string=_card(chart[1], chart[2])))
    return names


def _card(viewbox: str, drawing: str) -> str:
    """The chart on white, in the format that sites crop the least."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" color="{INK}">'
        f'<rect width="100%" height="100%" fill="#fff"/><svg x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
        f'height="{HEIGHT - 2 * MARGIN}" viewBox="{viewbox}">{drawing}</svg></svg>'
    )


def _can_write(language: str) -> bool:
    if language == "en":
        return True
    finder = shutil.which("fc-list")
    return finder is not None and bool(subprocess.check_output([finder, f":lang={language.lower()}"]))
