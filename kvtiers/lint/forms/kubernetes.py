"""Kubernetes objects: every pod in them at any depth, with the ConfigMaps of the same inputs.

So are Deployment, StatefulSet and LeaderWorkerSet read, KServe's InferenceService and Dynamo's DynamoGraphDeployment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvtiers.lint.command.expand import Scope, kubernetes
from kvtiers.lint.command.images import is_server, note_versions
from kvtiers.lint.command.inputs import Inputs, values_of
from kvtiers.lint.command.scripts import Caller, run_container
from kvtiers.lint.command.shell import Word, parse
from kvtiers.lint.command.sizes import kubernetes_gib
from kvtiers.lint.forms.compose import as_variable
from kvtiers.lint.given import Container, Given, Mount, Source, Unseen, Value
from kvtiers.lint.yaml_nodes import Node

_FILES = (".yaml", ".yml", ".json", ".env", ".sh", ".conf")


_PLAIN = re.compile(r"(?:v1|apps/.*|batch/.*|leaderworkerset\..*)$")  # whose pods are as they stand


@dataclass(frozen=True)
class _Pod:
    """``spec``: of a pod; ``outer``: what stands around it; ``operator``: the kind whose operator adds to it, or none.

    ``completed``: the operator adds arguments too.
    """

    spec: Node
    outer: Node
    operator: str = ""
    completed: bool = False


def note_config_map(source: Source, node: Node, inputs: Inputs) -> bool:
    """Is it a ConfigMap? Then its variables, and the files in it, are known by their names from now on."""
    kind, data, metadata = node.value.get("kind"), node.value.get("data"), node.value.get("metadata")
    listed = node.value.get("items")
    for item in listed.value if listed is not None and isinstance(listed.value, list) else []:
        if isinstance(item.value, dict):
            note_config_map(source, item, inputs)
    if kind is None or kind.value != "ConfigMap":
        return False
    if data is not None and isinstance(data.value, dict):
        entries = {
            str(key): Value(as_variable(value.value), source.name, value.line) for key, value in data.value.items()
        }
        name = metadata.value.get("name") if metadata is not None and isinstance(metadata.value, dict) else None
        inputs.maps[str(name.value) if name else ""] = entries
        for key, value in entries.items():
            if key.endswith(_FILES):
                part = Source(f"{source.name} ({key})", str(value.value))
                inputs.of_maps.add(part.name)
                inputs.add(part, value.line)
    return True


def read_object(source: Source, node: Node, inputs: Inputs, given: Given) -> None:
    """Add the servers that an object's pods run."""
    operator = "" if _PLAIN.match(str(node.value["apiVersion"].value)) else str(node.value["kind"].value)
    for pod, item in _containers(node, node, operator):
        _container(source, pod, item, Caller(source.name, inputs, given))


def _containers(node: Node, outer: Node, operator: str) -> Iterator[tuple[_Pod, Node]]:
    """Each container with its pod."""
    if isinstance(node.value, list):
        for inner in node.value:
            yield from _containers(inner, outer, operator)
    if not isinstance(node.value, dict):
        return
    listed, main, model = (node.value.get(key) for key in ("containers", "mainContainer", "model"))
    if listed is not None and isinstance(listed.value, list):
        pod = _Pod(node, outer, operator, operator == "LLMInferenceService")
        yield from ((pod, item) for item in listed.value if isinstance(item.value, dict))
    for single in (main, model):
        if single is not None and isinstance(single.value, dict) and set(single.value) & {"args", "command", "env"}:
            yield _Pod(node, outer, operator, completed=single is model), single
    for key, inner in node.value.items():
        if key not in ("containers", "mainContainer", "initContainers"):
            yield from _containers(inner, node, operator)


def _container(source: Source, pod: _Pod, item: Node, caller: Caller) -> None:
    fields = item.value
    image = fields.get("image")
    if pod.operator:
        caller.unseen.append(Unseen("operator", pod.operator, source.name, item.line))
    for node in (_inner(pod.outer, "envs"), fields.get("envFrom"), fields.get("env")):
        _variables(node, caller)
    if image is not None:
        note_versions(str(image.value), source.name, image.line, caller.given, caller.versions)
    known = values_of(caller.environment)
    command, arguments = (_words(fields.get(key), known) for key in ("command", "args"))
    additional = caller.environment.get("VLLM_ADDITIONAL_ARGS")  # KServe's LLMInferenceService appends them
    if additional is not None:
        inner = parse(str(additional.value), additional.line)
        arguments += [Word(word.text, additional.line) for one in inner for word in one.words]
    serves = image is None or is_server(str(image.value)) or additional is not None
    caller.image_serves = serves and not command and bool(arguments)
    caller.container = _surroundings(source, pod, item)
    caller.scope = Scope(dict(known))
    before = len(caller.started)
    run_container([*command, *arguments], caller, str(image.value) if image is not None else "", item.line)
    for process in caller.started[before:] if pod.completed else ():
        process.unseen.append(Unseen("operator", pod.operator, source.name, item.line))


def _inner(node: Node, key: str) -> Node | None:
    inner = node.value.get(key) if isinstance(node.value, dict) else None
    return inner if isinstance(inner, Node) else None


def _variables(node: Node | None, caller: Caller) -> None:
    for item in node.value if node is not None and isinstance(node.value, list) else []:
        if isinstance(item.value, dict):
            _variable(item, caller)


def _variable(item: Node, caller: Caller) -> None:
    plain = item.plain()
    name, value = str(plain.get("name", "")), plain.get("value")
    taken = plain.get("valueFrom")
    of_map = (taken or {}).get("configMapKeyRef") if isinstance(taken, dict) else None
    if "configMapRef" in plain:
        of = str((plain["configMapRef"] or {}).get("name", ""))
        if of in caller.inputs.maps:
            caller.environment |= caller.inputs.maps[of]
        else:
            caller.unseen.append(Unseen("config_map", of, caller.source, item.line))
    elif isinstance(of_map, dict) and str(of_map.get("key")) in caller.inputs.maps.get(str(of_map.get("name")), {}):
        caller.environment[name] = caller.inputs.maps[str(of_map["name"])][str(of_map["key"])]
    elif name:
        text, known = kubernetes(as_variable(value), values_of(caller.environment))
        caller.environment[name] = Value(text, caller.source, item.line, known and taken is None and "${" not in text)


def _words(node: Node | None, variables: dict[str, str | None]) -> list[Word]:
    if node is None or not isinstance(node.value, list):
        return []
    filled = [(kubernetes(as_variable(item.value), variables), item.line) for item in node.value]
    return [Word(text, line, known) for (text, known), line in filled]


def _surroundings(source: Source, pod: _Pod, item: Node) -> Container:
    """Its memory limit, its volumes, and what it shares with the host. A pod's containers share /dev/shm."""
    plain, spec, outer = item.plain(), pod.spec.plain(), _dict(pod.outer.plain())
    container = Container(f"{source.name} {pod.spec.line}", mounts=[])
    assert container.mounts is not None
    resources = item if "resources" in item.value else pod.outer
    gib = kubernetes_gib(_dict(_dict(resources.plain().get("resources")).get("limits")).get("memory"))
    if gib:
        container.memory = Value(gib, source.name, resources.value["resources"].line)
    container.host_network, container.host_ipc = bool(spec.get("hostNetwork")), bool(spec.get("hostIPC"))
    container.published = [str(port["hostPort"]) for port in _dicts(plain.get("ports")) if "hostPort" in port]
    volumes = {str(volume.get("name")): volume for volume in _dicts(spec.get("volumes"))}
    for mount in _dicts(plain.get("volumeMounts")):
        held = _dict(volumes.get(str(mount.get("name")), {}).get("emptyDir"))
        size, memory = kubernetes_gib(held.get("sizeLimit")), held.get("medium") == "Memory"
        container.mounts.append(Mount(str(mount.get("mountPath", "")), size, memory))
        if mount.get("mountPath") == "/dev/shm":
            # Without a limit it may take as much memory as the container.
            container.shm = Value(size or (gib if memory else None), source.name, item.line, literal=False)
    if (
        pod.operator or "image" not in item.value
    ):  # an operator, or what this patches, adds volumes, /dev/shm among them
        container.mounts = None
        shared = _dict(outer.get("sharedMemory")).get("size")
        container.shm = container.shm or Value(kubernetes_gib(shared), source.name, item.line)
    return container


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
