"""Values of vLLM production-stack's Helm chart, as its template turns them into a command and variables."""

import json

from kvtiers.lint.command.caller import Caller
from kvtiers.lint.command.scripts import run_command
from kvtiers.lint.command.shell import Word
from kvtiers.lint.forms.kubernetes import kubernetes_gib, read_variable
from kvtiers.lint.given import Container
from kvtiers.lint.yaml_nodes import NOTHING, Node
from kvtiers.tables import read_table

_CHART = read_table("lint/names.toml")["chart"]
_SHM_GIB = 20.0  # the chart's, where ranks need one


def is_values(node: Node) -> bool:
    """Are these values of that chart?"""
    return isinstance(node.at("servingEngineSpec").value, dict)


def read_values(node: Node, caller: Caller) -> None:
    """Add the server of each ``modelSpec``."""
    for model in node.at("servingEngineSpec", "modelSpec").items:
        if model.fields:
            _model(model, node, caller.fresh())


def _model(model: Node, values: Node, caller: Caller) -> None:
    config, lmcache, tag, line = model.at("vllmConfig"), model.at("lmcacheConfig"), model.at("tag"), model.line
    caller.note_versions(f"{model.at('repository').text}:{tag.text}", tag.line or line)
    words = [Word(text, line) for text in ("vllm", "serve", model.at("modelURL").text) if text]
    words += _options(config) if isinstance(config.value, dict) else []
    if lmcache.at("enabled").value:
        old = config.at("v0").text == "1"
        role = lmcache.at("kvRole").text or "kv_both"
        value = {"kv_connector": "LMCacheConnector" if old else "LMCacheConnectorV1", "kv_role": role}
        words.append(Word(f"--kv-transfer-config={json.dumps(value)}", lmcache.line))
        for key, name in _CHART["variables"].items():
            if key in lmcache.fields:
                caller.environment[name] = caller.value(lmcache.at(key).text, lmcache.at(key).key_line)
        if "LMCACHE_MAX_LOCAL_CPU_SIZE" in caller.environment:
            caller.environment["LMCACHE_LOCAL_CPU"] = caller.value("True", lmcache.line)
        if "cacheserverSpec" in values.fields:
            caller.environment["LMCACHE_REMOTE_URL"] = caller.value("", line, literal=False)
    caller.environment["PYTHONHASHSEED"] = caller.value("123", line)
    secrets = {"VLLM_API_KEY": values.at("servingEngineSpec", "vllmApiKey"), "HF_TOKEN": model.at("hf_token")}
    for name, secret in secrets.items():  # written out, or a reference to a Secret
        if secret.value is not None:
            caller.environment[name] = caller.value(secret.text, secret.line, isinstance(secret.value, str))
    for item in model.at("env").items:
        read_variable(item, caller)
    caller.container = _container(model, caller)
    for process in run_command(words, caller):
        process.by_chart = True


def _options(config: Node) -> list[Word]:
    """Prefix caching is off unless it is asked for, once there is a vllmConfig."""
    words = [] if config.at("enablePrefixCaching").value else [Word("--no-enable-prefix-caching", config.line)]
    for key, option in _CHART["options"].items():
        if key in config.fields:
            words.append(Word(f"{option}={config.at(key).text}", config.at(key).key_line))
    return words + [Word(item.text, item.line) for item in config.at("extraArgs").items]


def _container(model: Node, caller: Caller) -> Container:
    memory, storage = model.at("limitMemory"), model.at("pvcStorage")
    ranks = model.at("vllmConfig", "tensorParallelSize")
    gib, shm = kubernetes_gib(memory.value), kubernetes_gib(model.at("shmSize").value) or _SHM_GIB
    volumes = {"/data": kubernetes_gib(storage.value)} if storage is not NOTHING else {}
    return Container(
        f"{caller.source} {model.at('name').text}",
        memory=caller.value(gib, memory.line) if gib else None,
        shm=caller.value(shm, ranks.key_line) if ranks is not NOTHING else None,
        volumes={**volumes, **{item.at("mountPath").text: None for item in model.at("extraVolumeMounts").items}},
    )
