"""vLLM's own configuration file, as ``vllm serve --config`` reads it: options by their long names."""

from kvtiers.lint.command.inputs import Inputs
from kvtiers.lint.given import Process, Unseen, Value
from kvtiers.lint.yaml_nodes import Node, documents

_MARKS = {
    "kv-transfer-config", "kv-offloading-size", "kv-offloading-backend", "tensor-parallel-size", "max-model-len",
    "gpu-memory-utilization", "served-model-name", "max-num-seqs", "max-num-batched-tokens", "pipeline-parallel-size",
    "enforce-eager", "enable-prefix-caching", "kv-cache-dtype", "trust-remote-code",
}  # fmt: skip


def is_vllm_config(node: Node) -> bool:
    """Is a mapping a server's options?"""
    return bool(_MARKS & {str(key).replace("_", "-") for key in node.fields})


def options_in(node: Node, source: str) -> dict[str, Value]:
    """Each key as the option it stands for; what is nested is JSON, what is false is not given."""
    options = {}
    for key, inner in node.fields.items():
        plain = inner.value
        if plain is not False and plain is not None:
            text = inner.json if isinstance(plain, (dict, list)) else plain if plain is True else str(plain)
            options[str(key).replace("_", "-")] = Value(text, source, inner.key_line)
    return options


def merge_config(process: Process, inputs: Inputs) -> None:
    """Add what the file of ``--config`` says; the command line wins. A file that was not given is noted."""
    named = process.options.get("config")
    if named is None:
        return
    found = inputs.find(str(named.value)) if named.literal else None
    if found is None:
        process.unseen.append(Unseen("config_file", str(named.value), named.source, named.line))
        return
    for node in documents(found[0].text, found[1]):
        process.options = {**options_in(node, found[0].name), **process.options}
