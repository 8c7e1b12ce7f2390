"""The processes of a plan, in the order in which they start."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kvtiers.settings.mp import server_command
from kvtiers.settings.wiring import Plan, engine_command, engine_environment, has_own_redis, mp_mode

API_PORT = 8000
MEASURED_LMCACHE = "0.5.6"
LOOPBACK = "127.0.0.1"
# In the images.
PROGRAMS = "/opt/venv/bin"
MODELS = "/root/.cache/huggingface"
# Room for LMCache's server beside its RAM tier: an estimate, a CUDA context included.
_SERVER_GIB = 4.0


class Role(StrEnum):
    """What a process is there for."""

    STORE = "valkey"
    SERVER = "lmcache"
    ENGINE = "vllm"


@dataclass(frozen=True)
class Service:
    """One process. ``command``: without the image's own entry point; ``health``: port and path that answer 200 on
    loopback; ``gib``: host memory that it takes, 0 where that is not known; ``restart_s``: how long whoever watches it
    should wait before it is started anew."""

    role: Role
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    health: tuple[int, str] | None = None
    gib: float = 0.0
    restart_s: int = 5


def services_of(plan: Plan, lmcache: str = "", api_host: str = LOOPBACK) -> list[Service]:
    """Store and server where the plan has them, and the engine, whose API listens on ``api_host``."""
    version = lmcache or MEASURED_LMCACHE
    services = list[Service]()
    if has_own_redis(plan):
        bound = ("--maxmemory", f"{plan.disk_gib:g}gb", "--maxmemory-policy", "allkeys-lru", "--save", "")
        store = ("valkey-server", "--bind", LOOPBACK, *bound)
        services.append(Service(Role.STORE, "valkey/valkey:8", store, {}, gib=plan.disk_gib))
    mode = mp_mode(plan)
    if mode:
        health = (mode.http_port, "/healthcheck")
        memory, noticed_s = plan.cpu_gib + _SERVER_GIB, math.ceil(mode.noticed_s)
        image = f"lmcache/standalone:v{version}"
        services.append(Service(Role.SERVER, image, tuple(server_command(mode)), {}, health, memory, noticed_s))
    image = f"lmcache/vllm-openai:v{version}"
    command = (*engine_command(plan), "--host", api_host, "--port", str(API_PORT))
    services.append(Service(Role.ENGINE, image, command, engine_environment(plan), (API_PORT, "/health")))
    return services


def program(service: Service) -> str:
    """Where its image keeps the command's program."""
    name = service.command[0]
    return name if service.role is Role.STORE else f"{PROGRAMS}/{name}"


def kept_on_drive(service: Service, services: list[Service], plan: Plan) -> list[str]:
    """Directories on the drive that it reads and writes: LMCache's server, or an engine that has none beside it."""
    keeper = Role.SERVER if any(one.role is Role.SERVER for one in services) else Role.ENGINE
    return [plan.disk_path] if plan.wiring.on_drive and service.role is keeper else []
