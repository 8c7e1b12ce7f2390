"""Builds the course's site: lessons, live notebooks, and the browser's Python."""

import sys
from pathlib import Path

# `python site/build.py` finds this package; kvtiers lies beside site/ in the clone.
sys.path.append(str(Path(__file__).resolve().parents[2]))
