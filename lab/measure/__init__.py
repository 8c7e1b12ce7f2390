"""The experiment: what is sent, in which order, and what client, counters and drive say of it."""
