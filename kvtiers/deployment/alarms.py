"""Prometheus beside a deployment: what it scrapes, and the alarms of lesson 7 as its rules.

python -m kvtiers.deployment.alarms DIRECTORY
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from kvtiers.deployment.services import API_PORT, LOOPBACK, Role
from kvtiers.deployment.yaml_text import to_yaml
from kvtiers.settings.mp import MPMode
from kvtiers.tables import read_table

_RULES = "alarms.yaml"
_SCRAPED_EVERY = "15s"


@dataclass(frozen=True)
class Alarm:
    """One of alarms.toml, and what its fields mean there."""

    id: str
    expr: str
    holds_for: str
    severity: str
    what: dict[str, str]
    next: dict[str, str]

    def metrics(self) -> list[str]:
        """Names of vLLM's and LMCache's that it reads."""
        return re.findall(r"(?:vllm:|lmcache_mp_)\w+", self.expr)


def alarms() -> list[Alarm]:
    """All of them."""
    entries = read_table("deployment/alarms.toml")["alarm"]
    return [Alarm(**{"holds_for" if name == "for" else name: value for name, value in one.items()}) for one in entries]


def files() -> dict[str, str]:
    """``alarms.yaml``, and a ``prometheus.yaml`` that reads it, on one machine with a whole deployment."""
    rules = [
        {
            "alert": alarm.id,
            "expr": alarm.expr,
            "for": alarm.holds_for,
            "labels": {"severity": alarm.severity},
            "annotations": {"summary": alarm.what["en"], "description": alarm.next["en"]},
        }
        for alarm in alarms()
    ]
    ports = {Role.ENGINE: API_PORT, Role.SERVER: MPMode.http_port}
    scraped = [
        {"job_name": role.value, "static_configs": [{"targets": [f"{LOOPBACK}:{port}"]}]}
        for role, port in ports.items()
    ]
    every = {"scrape_interval": _SCRAPED_EVERY, "evaluation_interval": _SCRAPED_EVERY}
    return {
        _RULES: to_yaml({"groups": [{"name": "kvtiers", "rules": rules}]}),
        "prometheus.yaml": to_yaml({"global": every, "rule_files": [_RULES], "scrape_configs": scraped}),
    }


def main(directory: str) -> None:
    """Write the files there."""
    for name, content in files().items():
        Path(directory, name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
