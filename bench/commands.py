"""How long do commands take? ``size`` for each public model, start of the interpreter included, and ``diagnose`` on a
1 GB log, made by repeating a real one, against ``grep -c`` on the same file.

usage: python -m bench.commands
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kvtiers.model.public import public_models
from lab.paths import RESULTS

ROUNDS = 3
MAX_SIZE_S = 0.2
LOG = RESULTS / "reference" / "cpu-tiny.log"
LOG_BYTES = 10**9
MAX_RATIO = 4.0
MAX_RESIDENT_BYTES = 100 * 10**6


def main() -> int:
    """Print the figures; 1 when a target is missed."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("KVTIERS_BENCH_DIR")) as directory:
        met = [diagnose(Path(directory)), size(Path(directory))]
    return int(not all(met))


def size(directory: Path) -> bool:
    """The slowest model, and how it compares with an interpreter that does nothing."""
    config = directory / "config.json"
    taken: dict[str, float] = {}
    for name, model in public_models().items():
        config.write_text(json.dumps(model), encoding="utf-8")
        taken[name] = median(timed(*python("size", str(config))) for _ in range(ROUNDS))
    bare_s = median(timed(sys.executable, "-c", "pass") for _ in range(ROUNDS))
    slowest = max(taken, key=lambda name: taken[name])
    met = taken[slowest] < MAX_SIZE_S
    print(
        f"{len(taken)} models, medians of {ROUNDS}: {min(taken.values()):.3f} to {taken[slowest]:.3f} s ({slowest}), "
        f"of which {bare_s:.3f} s are the interpreter's own start\n{'met' if met else 'MISSED'}: under {MAX_SIZE_S} s "
        "each"
    )
    return met


def diagnose(directory: Path) -> bool:
    """The real log over and over; its resident memory is the most of any child so far."""
    path, once = directory / "large.log", LOG.read_bytes()
    with path.open("wb") as file:
        for _ in range(LOG_BYTES // len(once)):
            file.write(once)
    grep = ("grep", "-c", "LMCache hit tokens", str(path))
    timed(*grep)  # both read from the page cache
    pairs = [(timed(*grep), timed(*python("diagnose", "--json", "--requests", "0", str(path)))) for _ in range(ROUNDS)]
    grep_s, ours_s = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(ours / grep for grep, ours in pairs)
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(
        f"1 GB log: grep {grep_s:.2f} s, diagnose {ours_s:.2f} s, ratio {ratio:.1f} (target {MAX_RATIO:.0f}); "
        f"resident {resident / 1e6:.0f} MB (target {MAX_RESIDENT_BYTES / 1e6:.0f})"
    )
    return ratio <= MAX_RATIO and resident <= MAX_RESIDENT_BYTES


def python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "kvtiers", *arguments)


def timed(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.PIPE)  # with /dev/null grep stops at the first match
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
