"""Kubernetes objects: every pod in them at any depth, with the ConfigMaps of the same inputs.

So are Deployment, StatefulSet and LeaderWorkerSet read, KServe's InferenceService and Dynamo's DynamoGraphDeployment.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kvtiers.lint.command.caller import Caller, Inputs
from kvtiers.lint.command.expand import KUBERNETES, fill
from kvtiers.lint.command.scripts import run_container
from kvtiers.lint.command.shell import Word, words_in
from kvtiers.lint.given import Container, Invocation, Source, Unseen, Value
from kvtiers.lint.yaml_nodes import NOTHING, Node
from kvtiers.units import GIB

_FILES = (".yaml", ".yml", ".json", ".env", ".sh", ".conf")
_LLM_D = "llm-d-modelservice"  # a chart, whose values are no object
_PLAIN = re.compile(r"(?:v1|apps/.*|batch/.*|leaderworkerset\..*)$")  # whose pods are as they stand


def note_config_map(source: Source, node: Node, inputs: Inputs) -> bool:
    """Is it a ConfigMap? Then its variables, and the files in it, are known by their names from now on.

    So are services and volume claims.
    """
    for item in node.at("items").items:
        note_config_map(source, item, inputs)
    if node.at("kind").value in ("Service", "PersistentVolumeClaim"):
        inputs.beside.append(node)
    if node.at("kind").value != "ConfigMap":
        return False
    entries = {str(key): Value(one.text, source.name, one.line) for key, one in node.at("data").fields.items()}
    if entries:
        inputs.maps[node.at("metadata", "name").text] = entries
    for key, value in entries.items():
        if key.endswith(_FILES):
            part = Source(f"{source.name} ({key})", value.value, value.line)
            inputs.of_maps.add(part.name)
            inputs.add(part)
    return True


def read_object(node: Node, caller: Caller) -> None:
    """Add the servers that an object's pods run."""
    # the kind whose operator adds to its pods
    operator = "" if _PLAIN.match(node.at("apiVersion").text) else node.at("kind").text
    caller.inputs.beside += node.at("spec", "volumeClaimTemplates").items
    operator = _LLM_D if "modelArtifacts" in node.fields else operator
    for key, item, pod, outer in _containers(node, node):
        one = caller.fresh()
        if operator:
            one.not_seen("operator", operator, item.line)
        one.container = _surroundings(item, pod, outer, bool(operator), one)
        started = _container(item, outer, one)
        serves = operator == "LLMInferenceService" and key == "containers" and item.at("name").value == "main"
        if serves and not started:  # the operator writes all of its command
            started = [one.process(item.line)]
            caller.given.servers += started
        for process in started if serves or key == "model" or operator == _LLM_D else ():
            process.unseen.append(Unseen("operator", operator, one.source, item.line))


def _containers(node: Node, outer: Node) -> Iterator[tuple[str, Node, Node, Node]]:
    """Each container: the key that it stands under, itself, its pod, and what stands around that."""
    for inner in node.items:
        yield from _containers(inner, outer)
    sidecars = [item for item in node.at("initContainers").items if item.at("restartPolicy").value == "Always"]
    for item in [*sidecars, *node.at("containers").items]:
        if item.fields:
            yield "containers", item, node, outer
    for key in ("mainContainer", "model"):
        if {"args", "command", "env"} & set(node.at(key).fields):
            yield key, node.at(key), node, outer
    for key, inner in node.fields.items():
        if key not in ("containers", "mainContainer", "initContainers"):
            yield from _containers(inner, node)


def _container(item: Node, outer: Node, caller: Caller) -> list[Invocation]:
    for entry in (*outer.at("envs").items, *item.at("envFrom").items, *item.at("env").items):
        read_variable(entry, caller)
    image = item.at("image")
    caller.note_versions(image.text, image.line)
    command, arguments = (
        [fill(word.text, word.line, KUBERNETES, caller.environment) for word in item.at(key).items]
        for key in ("command", "args")
    )
    additional = caller.environment.get("VLLM_ADDITIONAL_ARGS")  # KServe's LLMInferenceService appends them
    if additional is not None:
        arguments += [Word(word.text, additional.line) for word in words_in(str(additional.value), additional.line)]
    caller.image_serves = image.value is None or additional is not None or item.at("modelCommand").text == "vllmServe"
    return run_container(caller, image.text, item.line, command, arguments)


def read_variable(item: Node, caller: Caller) -> None:
    """An entry of ``env`` or ``envFrom``."""
    name, maps = item.at("name").text, caller.inputs.maps
    taken = item.at("valueFrom", "configMapKeyRef")
    of, key = taken.at("name").text, taken.at("key").text
    if "configMapRef" in item.fields:
        of = item.at("configMapRef", "name").text
        caller.environment |= maps.get(of, {})
        if of not in maps:
            caller.not_seen("config_map", of, item.line)
    elif key in maps.get(of, {}):
        caller.environment[name] = maps[of][key]
    elif name:
        word = fill(item.at("value").text, item.line, KUBERNETES, caller.environment)
        literal = word.literal and item.at("valueFrom").value is None and "${" not in word.text
        caller.environment[name] = caller.value(word.text, item.line, literal)


def _surroundings(item: Node, pod: Node, outer: Node, completed: bool, caller: Caller) -> Container:
    """Its memory limit, its volumes, and what it shares with the host. A pod's containers share /dev/shm.

    ``completed``: by an operator, which adds volumes, /dev/shm among them.
    """
    resources = (item if "resources" in item.fields else outer).at("resources")
    gib = kubernetes_gib(resources.at("limits", "memory").value)
    container = Container(
        f"{caller.source} {pod.line}",
        memory=caller.value(gib, resources.line) if gib else None,
        host_network=bool(pod.at("hostNetwork").value),
        host_ipc=bool(pod.at("hostIPC").value),
        published=[*_published(item, outer, caller.inputs.beside)],
    )
    held_by = {volume.at("name").text: volume for volume in pod.at("volumes").items}
    volumes = {}
    for mount in item.at("volumeMounts").items:
        name, path = mount.at("name").text, mount.at("mountPath").text
        volume = held_by.get(name, NOTHING)
        held, claim = volume.at("emptyDir"), volume.at("persistentVolumeClaim", "claimName").text
        claimed = [_claimed(one) for one in caller.inputs.beside if one.at("metadata", "name").text == (claim or name)]
        size = volumes[path] = kubernetes_gib(held.at("sizeLimit").value) or next(filter(None, claimed), None)
        if path == "/dev/shm":
            # Without a limit it may take as much memory as the container.
            most = gib if held.at("medium").value == "Memory" else None
            container.shm = caller.value(size or most, item.line, literal=False)
    if completed or "image" not in item.fields:  # or it patches what has them
        shared = kubernetes_gib(outer.at("sharedMemory", "size").value)
        container.shm = container.shm or caller.value(shared, item.line)
    else:
        container.volumes = volumes
    return container


def _claimed(claim: Node) -> float | None:
    return kubernetes_gib(claim.at("spec", "resources", "requests", "storage").value)


def _published(item: Node, outer: Node, beside: Sequence[Node]) -> Iterator[str]:
    """A container's ports that are open outside the cluster: of the host, or by a service that selects its pod."""
    yield from (port.at("hostPort").text for port in item.at("ports").items if "hostPort" in port.fields)
    labels = outer.at("metadata", "labels").fields
    named = {port.at("name").text: port.at("containerPort").text for port in item.at("ports").items}
    for spec in (one.at("spec") for one in beside):
        outside = spec.at("type").text in ("LoadBalancer", "NodePort") or "externalIPs" in spec.fields
        selector = spec.at("selector").fields
        if outside and selector and all(labels.get(key, NOTHING).value == one.value for key, one in selector.items()):
            targets = [port.at("targetPort").text or port.at("port").text for port in spec.at("ports").items]
            yield from (named.get(target, target) for target in targets if target.isdecimal() or target in named)


def kubernetes_gib(size: Any) -> float | None:
    """``40Gi``, ``40G``, a number of bytes; None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGTP]?)(i?)", str(size).strip())
    base = 1024.0 if match and match[3] else 1000.0
    return float(match[1]) * base ** " kmgtp".index(match[2].lower() or " ") / GIB if match else None
