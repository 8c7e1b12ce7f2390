"""What this machine is, what it lacks for a command, and how much of it we may use.

Standard library only: it runs on the system's Python, before any environment exists.
"""


class MachineError(Exception):
    """What a person has to do before the command can run here. The message says what, in one or a few lines."""
