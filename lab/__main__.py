"""``python -m lab``."""

from lab.cli import main

main()
