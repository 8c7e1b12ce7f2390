"""``lab survive`` on the real engines: what it expects is what happens."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from kvtiers.result.survival import Scenario, read_survival
from lab.launches import DEFAULT_CACHE_ROOT
from lab.paths import REPOSITORY

pytestmark = pytest.mark.engine


def test_everything_survives_or_breaks_as_expected(tmp_path: Path) -> None:
    output, chunks = tmp_path / "survive.json", DEFAULT_CACHE_ROOT / f"tests-{uuid.uuid4().hex[:8]}"
    command = [sys.executable, "-m", "lab", "survive", "--engine", "cpu", "--cache-dir", str(chunks)]
    command += ["--output", str(output)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    survival = read_survival(output.read_text())
    assert [outcome.scenario for outcome in survival.outcomes if outcome.met] == [
        outcome.scenario for outcome in survival.outcomes
    ]
    assert {outcome.scenario for outcome in survival.outcomes} == set(Scenario)
    assert list(chunks.iterdir()) == []
    chunks.rmdir()
