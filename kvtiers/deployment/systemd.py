"""One machine under systemd: a unit a process, started in order, each restarted by itself."""

from kvtiers.deployment.services import Service
from kvtiers.settings.wiring import shell

_UNIT = """[Unit]
Description={role} for vLLM's KV cache
After=network-online.target{after}
Wants=network-online.target{after}

[Service]
# Where vllm and lmcache are installed: one environment for both, so that they are of one version.
Environment=PATH=/opt/vllm/bin:/usr/local/bin:/usr/bin:/bin
{environment}ExecStart=/usr/bin/env {command}
Restart=always
RestartSec={restart_s}
# Pinned memory is not to be cut short.
LimitMEMLOCK=infinity

[Install]
WantedBy=multi-user.target
"""


def files(services: list[Service]) -> dict[str, str]:
    """``kvtiers-<role>.service`` each."""
    units, started = {}, ""
    for service in services:
        name = f"kvtiers-{service.role}.service"
        environment = "".join(
            f"Environment={_quoted(f'{key}={value}')}\n" for key, value in service.environment.items()
        )
        command = shell(service.command, _quoted)
        units[name] = _UNIT.format(
            role=service.role, after=started, environment=environment, command=command, restart_s=service.restart_s
        )
        started += f" {name}"
    return units


def _quoted(word: str) -> str:
    """As systemd.service(5) unquotes it: % and $ are its own."""
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace("'", "\\'")
    bare = escaped and all(letter.isalnum() or letter in "-_./:=,@%$" for letter in escaped)
    return escaped if bare else f"'{escaped}'"
