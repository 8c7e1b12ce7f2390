"""``kvtiers COMMAND``, or ``python -m kvtiers COMMAND`` where it is not installed.

Each command is a module of ``kvtiers.commands``, imported only when it is called: ``lint`` alone needs PyYAML.
"""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from kvtiers.errors import KvtiersError
from kvtiers.words.refusals import say_refusal

# name -> (module, one line of help)
COMMANDS = {
    "size": ("kvtiers.commands.size", "how big a model's KV is, and what the engine reserves for it"),
    "plan": ("kvtiers.commands.plan", "which tier, and the settings for it"),
    "diagnose": ("kvtiers.commands.diagnose", "what a server log says about its KV tiers"),
    "worth-it": ("kvtiers.commands.worth_it", "what a tier would save in a day"),
    "pairs": ("kvtiers.commands.pairs", "which versions of vLLM and LMCache go together"),
    "lint": ("kvtiers.commands.lint", "what is wrong with a vLLM command or LMCache settings"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 where a command has findings, or 2 for input that cannot be used."""
    given = sys.argv[1:] if arguments is None else arguments
    installed = Path(sys.argv[0]).stem == "kvtiers"
    parser = argparse.ArgumentParser(
        prog="kvtiers" if installed else "python -m kvtiers", description="KV-cache sizes and tiers."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar=f"{{{','.join(COMMANDS)}}}")
    options = argparse.Namespace()
    try:
        for name, (module, text) in COMMANDS.items():
            subparser = subparsers.add_parser(name, help=text, description=text)
            if given[:1] == [name]:
                import_module(module).add_arguments(subparser)
        options = parser.parse_args(given)
        result: str | tuple[str, int] = import_module(COMMANDS[options.command][0]).run(options)
    except KvtiersError as error:
        say_refusal(given[0], error, getattr(options, "language", "en"))
        return 2
    output, status = (result, 0) if isinstance(result, str) else result
    try:
        print(output, flush=True)
    except BrokenPipeError:  # the reader, head or less, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


if __name__ == "__main__":
    sys.exit(main())
