"""Turns lessons and notebooks into the static site in `site/dist`."""
