"""How fast is ``diagnose``? A 1 GB log, made by repeating a real one, against ``grep -c`` on the same file.

usage: python -m bench.diagnose
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from lab.paths import RESULTS

LOG = RESULTS / "reference" / "cpu-tiny.log"
SIZE_BYTES = 10**9
ROUNDS = 3
MAX_RATIO = 4.0
MAX_RESIDENT_BYTES = 100 * 10**6


def main() -> int:
    """Print the figures; 1 when a target is missed."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("KVTIERS_BENCH_DIR")) as directory:
        path = Path(directory) / "large.log"
        write(path)
        grep = ["grep", "-c", "LMCache hit tokens", str(path)]
        ours = [sys.executable, "-m", "kvtiers", "diagnose", "--json", "--requests", "0", str(path)]
        timed(grep)  # both read from the page cache
        pairs = [(timed(grep), timed(ours)) for _ in range(ROUNDS)]
    grep_s, ours_s = (median(times) for times in zip(*pairs, strict=True))
    ratio = median(ours / grep for grep, ours in pairs)
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(
        f"1 GB log: grep {grep_s:.2f} s, diagnose {ours_s:.2f} s, ratio {ratio:.1f} (target {MAX_RATIO:.0f}); "
        f"resident {resident / 1e6:.0f} MB (target {MAX_RESIDENT_BYTES / 1e6:.0f})"
    )
    return int(ratio > MAX_RATIO or resident > MAX_RESIDENT_BYTES)


def write(path: Path) -> None:
    """The real log over and over, up to SIZE_BYTES."""
    once = LOG.read_bytes()
    with path.open("wb") as file:
        for _ in range(SIZE_BYTES // len(once)):
            file.write(once)


def timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.PIPE)  # with /dev/null grep stops at the first match
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
