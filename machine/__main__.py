"""``python3 -m machine COMMAND [ENGINE]``: is this machine fit for ``make COMMAND``, and what does it lack?

Any Python from 3.6 on can read this file and what it imports first, so that an old one ends in a sentence.
"""

import sys

from machine.commands import COMMANDS, ENGINES, WITH_ENGINE
from machine.pythons import complaint


def main() -> None:
    """Exit code 0: go on. 1: it can't run here, with a message that says what to do. 2: not a command."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    engine = sys.argv[2] if len(sys.argv) > 2 else "auto"
    if command not in COMMANDS or engine not in ENGINES:
        print(f"usage: python3 -m machine {{{','.join(sorted(COMMANDS))}}} [{'|'.join(ENGINES)}]", file=sys.stderr)
        sys.exit(2)
    unfit = complaint(command, command in WITH_ENGINE)
    if unfit:
        sys.exit(unfit)
    # Not before: an older Python can't read these.
    from machine import MachineError  # noqa: PLC0415
    from machine.look import look  # noqa: PLC0415

    try:
        look(command, engine)
    except MachineError as error:
        sys.exit(str(error))


main()
