"""The alarms of lesson 7, as Prometheus' rules."""

import re

import pytest
import yaml

from kvtiers.deployment.alarms import Alarm, alarms, files
from kvtiers.words import LANGUAGES
from lab.paths import REPOSITORY
from tests.deploy.test_alarms import SERIES

SHOWN = set((REPOSITORY / "tests" / "core" / "data" / "metric_names.txt").read_text().split("\n")[1:])


def test_the_committed_files_are_what_is_written() -> None:
    directory = REPOSITORY / "deploy" / "prometheus"
    assert {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()} == files()


@pytest.mark.parametrize("alarm", alarms(), ids=lambda alarm: alarm.id)
def test_an_alarm_reads_what_real_servers_show(alarm: Alarm) -> None:
    names = alarm.metrics()
    assert names or alarm.expr.startswith("up{")
    assert set(names) <= SHOWN


@pytest.mark.parametrize("alarm", alarms(), ids=lambda alarm: alarm.id)
def test_an_alarm_speaks_every_language(alarm: Alarm) -> None:
    assert set(alarm.what) == set(alarm.next) == set(LANGUAGES)


def test_every_alarm_is_tried_on_series_that_are_broken() -> None:
    broken = yaml.safe_load(SERIES.read_text(encoding="utf-8"))["tests"][-1]["promql_expr_test"][0]["exp_samples"]
    assert {re.findall('"(.*)"', sample["labels"])[0] for sample in broken} == {alarm.id for alarm in alarms()}
