"""Ratios measured in one run: absolute times are noise on shared machines."""
