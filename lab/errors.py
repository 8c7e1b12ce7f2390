"""The one error type of this package."""


class LabError(Exception):
    """Something the user can put right. The message says what, in one or a few lines."""
