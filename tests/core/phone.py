"""Is a chart legible on a phone of 360 px, which leaves 312 px beside the page's margins?"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from kvtiers.charts.drawing import text_in

PHONE_PX, LEAST_PX = 312, 12


def illegible(chart: str) -> Iterator[str]:
    """The texts that are too small there, or reach beyond the chart's edge."""
    svg = ElementTree.fromstring(chart)
    width = float((svg.get("viewBox") or "").split()[2])
    for text in (element for element in svg.iter() if element.tag.endswith("text")):
        said, style = "".join(text.itertext()), text.get("style", "")
        size = re.search(r"([\d.]+)px", style)
        place = re.search(r"translate\(([\d.-]+)", text.get("transform", "")) or re.match(r"(.+)", text.get("x", ""))
        assert size
        assert place
        long, start = text_in(said) * 72, float(place[1])
        start -= long if "anchor: end" in style else long / 2 if "anchor: middle" in style else 0
        if float(size[1]) * PHONE_PX / width < LEAST_PX or start < -1 or start + long > width + 1:
            yield said
