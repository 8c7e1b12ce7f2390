"""A YAML or JSON file by what stands in it: compose, Kubernetes, Helm values, vLLM's configuration, lmcache.yaml."""

from kvtiers.errors import KvtiersError
from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.inputs import Inputs
from kvtiers.lint.command.options import is_vllm_config, options_in
from kvtiers.lint.forms.charts import is_values, read_values
from kvtiers.lint.forms.compose import read_service
from kvtiers.lint.forms.kubernetes import note_config_map, read_object
from kvtiers.lint.given import Process, Source, Value, is_part
from kvtiers.lint.yaml_nodes import Node, documents
from kvtiers.settings import known


def note_config_maps(source: Source, inputs: Inputs) -> None:
    """Make the ConfigMaps of a file known before anything refers to them."""
    for node in documents(source.text):
        note_config_map(source, node, inputs)


def read_yaml(source: Source, first_line: int, caller: Caller) -> str:
    """Add what the file says to what is given, and name its kind.

    Raises:
        KvtiersError: ``line N: …`` for what is no YAML, or YAML about something else.
    """
    kind = "yaml"
    for node in documents(source.text, first_line):
        if isinstance(node.value, dict):
            kind = _document(source, node, caller)
        elif node.value is not None:
            raise KvtiersError(f"line {node.line}: neither settings (name: value) nor services")
    return kind


def _document(source: Source, node: Node, caller: Caller) -> str:
    if {"apiVersion", "kind"} <= set(node.fields):
        if not note_config_map(source, node, caller.inputs):
            read_object(node, caller)
        return "kubernetes"
    if isinstance(node.at("services").value, dict):
        for name, service in node.at("services").fields.items():
            if service.fields:
                read_service(str(name), service, caller.fresh())
        return "compose"
    if is_values(node):
        read_values(node, caller)
        return "helm"
    return _settings(source, node, caller)


def _settings(source: Source, node: Node, caller: Caller) -> str:
    given, keys = caller.given, [str(key) for key in node.fields]
    if "kv_connector" in keys:  # the value of --kv-transfer-config by itself
        value = Value(node.json, source.name, node.line)
        given.servers.append(Process(source.name, node.line, {"kv-transfer-config": value}))
        return "kv_transfer_config"
    if is_vllm_config(node) and not known.kinds().keys() & set(keys):
        given.servers.append(Process(source.name, node.line, options_in(node, source.name)))
        return "vllm_config"
    if _like_settings(source, keys):
        values = {str(key): Value(one.plain(), source.name, one.key_line) for key, one in node.fields.items()}
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
