"""The one error a failed build ends with."""


class CourseError(Exception):
    """A build step failed; the message says what to do."""
