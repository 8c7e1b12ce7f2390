"""Prometheus' own tool reads the alarms, and lets them fire."""

import shutil
import subprocess
from pathlib import Path

from lab.paths import REPOSITORY

SERIES = Path(__file__).with_name("alarms.test.yaml")


def promtool(directory: Path, *words: str) -> str:
    done = subprocess.run(["promtool", *words], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_configuration_and_alarms() -> None:
    assert "6 rules found" in promtool(REPOSITORY / "deploy" / "prometheus", "check", "config", "prometheus.yaml")


def test_each_alarm_fires_on_what_it_is_there_for_and_on_nothing_else(tmp_path: Path) -> None:
    shutil.copy(SERIES, tmp_path)
    shutil.copy(REPOSITORY / "deploy" / "prometheus" / "alarms.yaml", tmp_path)
    promtool(tmp_path, "test", "rules", SERIES.name)
