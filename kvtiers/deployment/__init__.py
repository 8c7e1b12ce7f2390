"""A plan as a whole deployment: what to run is in ``services``, who starts and watches it in a file each.

Sources: LMCache 0.5.6's deployment guide (host network, one IPC namespace, a server a node, ``/healthcheck``, images
and the paths in them), the compose specification, Kubernetes apps/v1. Read, not run. LMCache's ports ask for no
password: its server listens on loopback only, and vLLM's API is all that others reach.

    files_of(plan, Form.COMPOSE)    # {"compose.yaml": "services:\\n  lmcache:\\n…"}
"""

from enum import StrEnum

from kvtiers.deployment import compose, kubernetes, systemd
from kvtiers.deployment.services import LOOPBACK, services_of
from kvtiers.errors import KvtiersError
from kvtiers.settings.wiring import Plan, Platform


class Form(StrEnum):
    """Who starts the processes and watches them."""

    SYSTEMD = "systemd"
    COMPOSE = "compose"
    K8S = "k8s"


def files_of(plan: Plan, form: Form, lmcache: str = "") -> dict[str, str]:
    """The deployment's files by name. ``lmcache``: its version, which names the images; the measured one by default.

    Raises:
        KvtiersError: for a container on a CPU, and a cluster whose store would live on one node's loopback.
    """
    if form is not Form.SYSTEMD and plan.platform is Platform.CPU:
        raise KvtiersError("no image with LMCache and vLLM's CPU backend is known: use --as systemd")
    services = services_of(plan, lmcache, kubernetes.API_HOST if form is Form.K8S else LOOPBACK)
    match form:
        case Form.SYSTEMD:
            return systemd.files(services)
        case Form.COMPOSE:
            return compose.files(services, plan)
        case Form.K8S:
            return kubernetes.files(services, plan)
