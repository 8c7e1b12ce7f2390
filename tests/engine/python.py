"""The engine's own Python, and running a script in it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab.paths import engine_python


def interpreter() -> Path:
    """The interpreter the lab set up, or the one ``KVTIERS_ENGINE_PYTHON`` names; fails the test when there is none."""
    python = Path(os.environ.get("KVTIERS_ENGINE_PYTHON", engine_python("cpu")))
    if not python.is_file():
        pytest.fail(f"no engine at {python}: run python -m lab setup --engine cpu", pytrace=False)
    return python


def run_in_engine(script: str, cases: list[dict[str, Any]], timeout_s: float = 600) -> dict[str, dict[str, Any]]:
    """Results by case name of a script, by its path from this folder: JSON cases in, one JSON object a line out."""
    done = subprocess.run(
        [interpreter(), Path(__file__).parent / script],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    results = {result["name"]: result for result in map(json.loads, done.stdout.splitlines())}
    missing = [case["name"] for case in cases if case["name"] not in results]
    if missing:
        pytest.fail(f"{script} ended with {done.returncode} before {missing[0]}:\n{done.stderr[-4000:]}", pytrace=False)
    return results
