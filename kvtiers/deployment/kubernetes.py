"""A cluster: an LMCache server on each GPU node, vLLM on as many nodes as there are replicas.

Host network and host IPC, for CUDA IPC between the two pods of a node. The server listens on the node's loopback;
there the kubelet asks whether it is well. A host port is taken once a node, so each replica has a node for itself.
"""

from typing import Any

from kvtiers.deployment.services import API_PORT, LOOPBACK, MODELS, Role, Service, kept_on_drive, program
from kvtiers.deployment.yaml_text import to_yaml
from kvtiers.errors import KvtiersError
from kvtiers.settings.wiring import Plan

_NODE_MODELS = "/var/cache/huggingface"
API_HOST = "0.0.0.0"  # of the node: a Service leads there


def files(services: list[Service], plan: Plan) -> dict[str, str]:
    """``kubernetes.yaml``: what runs, and the address under which vLLM is reached."""
    if any(service.role is Role.STORE for service in services):
        raise KvtiersError("a cluster's Valkey is a service of its own, with a password: plan mp_s3 or mp_drive")
    manifests = [_workload(service, services, plan) for service in services]
    address = {"selector": {"app": Role.ENGINE.value}, "ports": [{"port": API_PORT, "targetPort": API_PORT}]}
    metadata = {"name": Role.ENGINE.value}
    manifests.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": address})
    return {"kubernetes.yaml": "---\n".join(map(to_yaml, manifests))}


def _workload(service: Service, services: list[Service], plan: Plan) -> dict[str, Any]:
    labels = {"app": service.role.value}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _pod(service, services, plan)},
    }
    is_server = service.role is Role.SERVER
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet" if is_server else "Deployment",
        "metadata": {"name": service.role.value, "labels": labels},
        "spec": spec if is_server else {"replicas": 1, **spec},
    }


def _pod(service: Service, services: list[Service], plan: Plan) -> dict[str, Any]:
    # On the node, by where the container sees it.
    paths = {path: path for path in kept_on_drive(service, services, plan)}
    paths |= {MODELS: _NODE_MODELS} if service.role is Role.ENGINE else {}
    pod: dict[str, Any] = {
        "hostNetwork": True,
        "hostIPC": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "runtimeClassName": "nvidia",
        "nodeSelector": {"nvidia.com/gpu.present": "true"},
        "containers": [_container(service, plan, list(paths))],
    }
    if paths:
        pod["volumes"] = [
            {"name": f"path-{number}", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for number, path in enumerate(paths.values())
        ]
    return pod


def _container(service: Service, plan: Plan, paths: list[str]) -> dict[str, Any]:
    environment: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in service.environment.items()]
    container: dict[str, Any] = {
        "name": service.role.value,
        "image": service.image,
        "command": [program(service)],
        "args": list(service.command[1:]),
    }
    if service.role is Role.SERVER:
        # It sees the node's GPUs without claiming them: those are vLLM's.
        environment.append({"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"})
        memory = f"{service.gib:g}Gi"
        container["resources"] = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    else:
        # kubectl create secret generic vllm --from-literal=api-key=…
        key = {"secretKeyRef": {"name": Role.ENGINE.value, "key": "api-key"}}
        environment.append({"name": "VLLM_API_KEY", "valueFrom": key})
        container["ports"] = [{"containerPort": API_PORT, "hostPort": API_PORT}]
        container["resources"] = {"limits": {"nvidia.com/gpu": str(plan.tensor_parallel)}}
    if environment:
        container["env"] = environment
    if service.health:
        port, path = service.health
        check = {"httpGet": {"host": LOOPBACK, "port": port, "path": path}, "periodSeconds": 10, "timeoutSeconds": 5}
        container["startupProbe"] = check | {"failureThreshold": 120}
        container["livenessProbe"] = check | {"failureThreshold": 6}
        container["readinessProbe"] = check
    if paths:
        container["volumeMounts"] = [{"name": f"path-{number}", "mountPath": path} for number, path in enumerate(paths)]
    return container
