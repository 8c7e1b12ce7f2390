"""The one error a failed build ends with."""

import re

NEEDED = "0.9 GB"
"""What a build takes with all that it fetches, rounded up."""
_NO_SPACE = re.compile(r"no space left on device|ENOSPC|disk quota exceeded|EDQUOT", re.IGNORECASE)


class CourseError(Exception):
    """A build step failed; the message says what to do."""


class NoSpaceError(CourseError):
    def __init__(self, place: object) -> None:
        super().__init__(f"no space left in {place}; the whole build takes about {NEEDED}. Make room and build again")


def short_of_space(said: str) -> bool:
    """Whether a program's last words are that the drive is full."""
    return bool(_NO_SPACE.search(said))
