"""What is found in a log: what failed, what was missed, each with the line or the counts that show it."""
