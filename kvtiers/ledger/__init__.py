"""Load or recompute? What reuse costs, saves and wears, and on which tier it pays."""
