"""The one error a failed build ends with."""

import re

_NO_SPACE = re.compile(r"no space left on device|ENOSPC|disk quota exceeded|EDQUOT", re.IGNORECASE)


class CourseError(Exception):
    """A build step failed; the message says what to do."""


def short_of_space(said: str) -> bool:
    """Whether a program's last words are that the drive is full."""
    return bool(_NO_SPACE.search(said))
