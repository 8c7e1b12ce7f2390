"""A YAML or JSON file by what stands in it: compose, Kubernetes, Helm values, vLLM's configuration, lmcache.yaml."""

import json

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.inputs import Inputs
from kvtiers.lint.command.vllm_config import is_vllm_config, options_in
from kvtiers.lint.forms.charts import is_values, read_values
from kvtiers.lint.forms.compose import read_service
from kvtiers.lint.forms.kubernetes import note_config_map, read_object
from kvtiers.lint.given import Given, Process, Source, Value, is_part
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.settings import known


def note_config_maps(source: Source, inputs: Inputs) -> None:
    """Make the ConfigMaps of a file known before anything refers to them."""
    for node in documents(source.text):
        if isinstance(node.value, dict):
            note_config_map(source, node, inputs)


def read_yaml(source: Source, inputs: Inputs, given: Given, first_line: int) -> str:
    """Add what the file says to ``given``, and name its kind.

    Raises:
        KvtiersError: ``line N: …`` for what is no YAML, or YAML about something else.
    """
    kind = "yaml"
    for node in documents(source.text, first_line):
        if isinstance(node.value, dict):
            kind = _document(source, node, inputs, given)
        elif node.value is not None:
            raise KvtiersError(f"line {node.line}: neither settings (name: value) nor services")
    return kind


def _document(source: Source, node: Node, inputs: Inputs, given: Given) -> str:
    services = node.value.get("services")
    if {"apiVersion", "kind"} <= set(node.value):
        if not note_config_map(source, node, inputs):
            read_object(source, node, inputs, given)
        return "kubernetes"
    if services is not None and isinstance(services.value, dict):
        for name, service in services.value.items():
            if isinstance(service.value, dict):
                read_service(source, str(name), service, inputs, given)
        return "compose"
    if is_values(node):
        read_values(source, node, inputs, given)
        return "helm"
    return _settings(source, node, given)


def _settings(source: Source, node: Node, given: Given) -> str:
    if "kv_connector" in node.value:  # the value of --kv-transfer-config by itself
        value = Value(_json_of(node), source.name, node.line)
        given.servers.append(Process(source.name, node.line, {"kv-transfer-config": value}))
        return "kv_transfer_config"
    if is_vllm_config(node) and not any(str(key) in known.kinds() for key in node.value):
        given.servers.append(Process(source.name, node.line, options_in(node, source.name)))
        return "vllm_config"
    if _like_settings(source, [str(key) for key in node.value]):
        values = {str(key): Value(value, source.name, node.keys[key]) for key, value in node.value.items()}
        given.files[source.name] = values
        return "lmcache"
    raise KvtiersError(
        f"line {node.line}: neither LMCache's or vLLM's settings, nor services of compose, nor Kubernetes, nor "
        "vLLM production-stack's values: of another chart give what helm template renders"
    )


def _like_settings(source: Source, keys: list[str]) -> bool:
    """Is one of them LMCache's? A file that was given by itself may have them misspelt."""
    if any(key in known.kinds() or key in known.renamed() for key in keys):
        return True
    alone = not is_part(source.name) and not source.text.lstrip().startswith("{")
    return alone and any(known.nearest(key, known.kinds()) for key in keys)


def _json_of(node: Node) -> str:
    return json.dumps(node.plain(), default=str)
