"""Which Pythons fit. Any Python from 3.6 on can read this file, so that an old one can say that it is too old."""

import shutil
import subprocess
import sys

OLDEST = (3, 11)
# What the project's own packages have wheels for. 3.14 is resolved (tests/machine/test_locks.py), not run.
NEWEST = (3, 14)
# LMCache 0.5.6 has no wheel for a newer one.
NEWEST_WITH_ENGINE = (3, 13)


def complaint(command: str, with_engine: bool, version: "tuple[int, ...]" = sys.version_info[:2]) -> str:
    """Why this Python does not fit, and what to type instead; empty text where it does."""
    newest = NEWEST_WITH_ENGINE if with_engine else NEWEST
    if OLDEST <= version <= newest:
        return ""
    fitting = [f"3.{minor}" for minor in range(newest[1], OLDEST[1] - 1, -1)]
    other = next((f"python{name}" for name in fitting if _runs(f"python{name}")), "")
    steps = [] if sys.prefix == sys.base_prefix else ["rm -r .venv"]
    if not other:
        steps.append(f"install Python {fitting[1]}")
    steps.append(f"make PYTHON={other or 'python' + fitting[1]} {command}")
    return (
        f"make {command} needs Python {dotted(OLDEST)} to {dotted(newest)}; this is {dotted(version)}: "
        f"{', then '.join(steps)}"
    )


def _runs(name: str) -> bool:
    """A name on PATH may be a stand-in that runs nothing."""
    program = shutil.which(name)
    return program is not None and subprocess.call([program, "-c", ""], stderr=subprocess.DEVNULL) == 0


def dotted(version: "tuple[int, ...]") -> str:
    """As people write it: 3.11."""
    return ".".join(map(str, version[:2]))
