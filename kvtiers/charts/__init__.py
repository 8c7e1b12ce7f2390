"""The course's charts, drawn by matplotlib as SVG that becomes part of the page.

Text stays text, in the page's fonts (DejaVu, matplotlib's own, has no Chinese) and in the page's text colour, so that
one drawing serves both languages and both light and dark pages. It is drawn for a phone's width, where text is 12 px
high, and grows with the page. Colours are Okabe and Ito's, which colour-blind readers can tell apart; dashes and labels
say the same again. Every label comes from the caller.

Each function returns a ``Chart``: ``<svg role="img" aria-label=…>…</svg>``. They run on every move of a slider, also in
the browser, so they draw few artists: no markers, no minor ticks, no mathtext, no layout engine.
"""

from kvtiers.charts.bars import SpreadBar, layer_rows, log_bars, spread_bars, stacked_bars
from kvtiers.charts.curves import Gap, lines
from kvtiers.charts.drawing import Axis, Chart

__all__ = ["Axis", "Chart", "Gap", "SpreadBar", "layer_rows", "lines", "log_bars", "spread_bars", "stacked_bars"]
