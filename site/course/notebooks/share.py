"""The pictures that a link to a lesson shows where it is shared: the lesson's first chart as PNG."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import resvg_py
from matplotlib import get_data_path

from course.errors import CourseError

WIDTH, HEIGHT, MARGIN = 1200, 630, 60
CHART = re.compile(r'<svg\b[^>]*role="img"[^>]*viewbox="([\d. ]+)"[^>]*>(.*?)</svg>', re.DOTALL)
INK = "#1b1f24"
SAMPLES = {"en": "Kv1", "zh-TW": "快取"}
INSTALL = "install fonts that have its characters, on Debian `apt install fonts-noto-cjk`"


def write_pictures(saved: Mapping[tuple[str, str], str], default: Path, out: Path) -> dict[tuple[str, str], str]:
    """Draw the first chart of each saved view into `out`, beside `default`, the picture of pages without a chart.

    Returns the file names.

    Raises:
        CourseError: this machine has no font for what stands in them.
    """
    for language in sorted({language for language, _ in saved}):
        if not _can_write(SAMPLES[language]):
            raise CourseError(f"no font for the text in the link-preview pictures ({language}): {INSTALL}")
    out.mkdir()
    shutil.copy(default, out / "course.png")
    names = {}
    for (language, notebook), view in saved.items():
        chart = CHART.search(view)
        if chart:
            name = names[language, notebook] = f"{language}-{notebook.replace('_', '-')}.png"
            (out / name).write_bytes(_png(_card(chart[1], chart[2])))
    return names


def first_chart(view: str) -> str:
    """The first chart of a saved view, as SVG; empty where it has none."""
    chart = CHART.search(view)
    return chart[0] if chart else ""


def _card(viewbox: str, drawing: str) -> str:
    """The chart on white, in the format that sites crop the least."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" color="{INK}">'
        f'<rect width="100%" height="100%" fill="#fff"/><svg x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
        f'height="{HEIGHT - 2 * MARGIN}" viewBox="{viewbox}">{drawing}</svg></svg>'
    )


def _can_write(sample: str) -> bool:
    """Whether the fonts of this machine have these characters. What a font lacks is drawn like any other it lacks."""
    unknown = _letter("\U0010fffd")
    return all(_letter(character) != unknown for character in sample)


def _letter(character: str) -> bytes:
    return _png(f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><text y="30">{character}</text></svg>')


def _png(svg: str) -> bytes:
    # Charts are measured with matplotlib's own font, so they are drawn with it; what it lacks comes from the machine's.
    font = Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    return resvg_py.svg_to_bytes(svg_string=svg, font_files=[str(font)], font_family="DejaVu Sans")
