"""Turns lessons and notebooks into the static site in `site/dist`."""

import sys
from pathlib import Path

# `python site/build.py` finds this package; kvtiers lies beside site/ in the clone.
sys.path.append(str(Path(__file__).resolve().parents[2]))
