"""What lab and course share: the result file, its evidence and its medians."""
