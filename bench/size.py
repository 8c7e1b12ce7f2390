"""How long `python -m kvtiers size` takes for each public model, start of the interpreter included.

usage: python -m bench.size
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from kvtiers.model.public import public_models

RUNS = 3
LIMIT_S = 0.2


def main() -> int:
    """Print the slowest model and how it compares with an interpreter that does nothing; 1 over the limit."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "config.json"
        taken: dict[str, float] = {}
        for name, model in public_models().items():
            config.write_text(json.dumps(model), encoding="utf-8")
            taken[name] = median(seconds("-m", "kvtiers", "size", str(config)) for _ in range(RUNS))
    bare_s = median(seconds("-c", "pass") for _ in range(RUNS))
    slowest = max(taken, key=lambda name: taken[name])
    outcome = "met" if taken[slowest] < LIMIT_S else "MISSED"
    print(
        f"{len(taken)} models, medians of {RUNS}: {min(taken.values()):.3f} to {taken[slowest]:.3f} s ({slowest}), "
        f"of which {bare_s:.3f} s are the interpreter's own start\n{outcome}: under {LIMIT_S} s each"
    )
    return 0 if outcome == "met" else 1


def seconds(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
