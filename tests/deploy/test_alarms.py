"""Prometheus' own tool reads the alarms, and lets them fire.

It is taken out of Debian's package, which where it is installed starts a server that listens everywhere.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.paths import REPOSITORY

SERIES = Path(__file__).with_name("alarms.test.yaml")


@pytest.fixture(scope="module")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> str:
    if installed := shutil.which("promtool"):
        return installed
    folder = tmp_path_factory.mktemp("prometheus")
    get = "apt-get download -q prometheus"
    for command in (f"{get} || {{ apt-get update -q && {get}; }}", "dpkg-deb -x prometheus_*.deb ."):
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.fail(f"no promtool on PATH, and Debian's package can't be had: {done.stderr}", pytrace=False)
    return str(folder / "usr" / "bin" / "promtool")


def said(promtool: str, folder: Path, *words: str) -> str:
    done = subprocess.run([promtool, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_takes_configuration_and_alarms(promtool: str) -> None:
    assert "6 rules found" in said(promtool, REPOSITORY / "deploy" / "prometheus", "check", "config", "prometheus.yaml")


def test_each_alarm_fires_on_what_it_is_there_for_and_on_nothing_else(promtool: str, tmp_path: Path) -> None:
    shutil.copy(SERIES, tmp_path)
    shutil.copy(REPOSITORY / "deploy" / "prometheus" / "alarms.yaml", tmp_path)
    said(promtool, tmp_path, "test", "rules", SERIES.name)
