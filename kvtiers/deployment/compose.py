"""One machine under Docker Compose: host network and host IPC, as CUDA IPC needs them."""

from typing import Any

from kvtiers.deployment.services import LOOPBACK, MODELS, PROGRAMS, Role, Service, kept_on_drive, program
from kvtiers.deployment.yaml_text import to_yaml
from kvtiers.settings.wiring import Plan

_HOST_MODELS = "${HF_HOME:-~/.cache/huggingface}"


def files(services: list[Service], plan: Plan) -> dict[str, str]:
    """``compose.yaml``."""
    entries: dict[str, Any] = {}
    for service in services:
        entry: dict[str, Any] = {
            "image": service.image,
            "entrypoint": [program(service)],
            "command": list(service.command[1:]),
            "network_mode": "host",
            "restart": "unless-stopped",
        }
        if service.environment:
            entry["environment"] = dict(service.environment)
        if service.role is not Role.STORE:
            gpus = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
            entry["ipc"] = "host"
            entry["deploy"] = {"resources": {"reservations": {"devices": [gpus]}}}
        if service.health:
            entry["healthcheck"] = _health(service.health)
        volumes = [f"{path}:{path}" for path in kept_on_drive(service, services, plan)]
        if service.role is Role.ENGINE:
            volumes.append(f"{_HOST_MODELS}:{MODELS}")
        if volumes:
            entry["volumes"] = volumes
        if entries:
            entry["depends_on"] = {
                name: {"condition": "service_healthy" if "healthcheck" in other else "service_started"}
                for name, other in entries.items()
            }
        entries[service.role.value] = entry
    return {"compose.yaml": to_yaml({"services": entries})}


def _health(health: tuple[int, str]) -> dict[str, Any]:
    port, path = health
    ask = f'import urllib.request as web; web.urlopen("http://{LOOPBACK}:{port}{path}", timeout=4)'
    return {
        "test": ["CMD", f"{PROGRAMS}/python3", "-c", ask],
        "interval": "10s",
        "timeout": "5s",
        "retries": 3,
        "start_period": "10m",  # a large model loads that long; a success ends it
    }
