"""Asking again and again until what is waited for is there, or the time is up."""

import time
from collections.abc import Iterator


def tries(timeout_s: float, poll_s: float) -> Iterator[bool]:
    """One turn after the other, ``poll_s`` apart; each is told whether it is the last that there is time for.

    for is_last in tries(10.0, 0.1):
        if arrived() or is_last:
            break
    """
    deadline = time.monotonic() + timeout_s
    while True:
        yield time.monotonic() >= deadline
        time.sleep(poll_s)
