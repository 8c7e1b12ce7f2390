"""The one error type of this package."""


class MachineError(Exception):
    """What a person has to do before the command can run here. The message says what, in one or a few lines."""
