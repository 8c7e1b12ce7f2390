"""The doctor's score, and ratios measured in one run: absolute times are noise on shared machines."""
