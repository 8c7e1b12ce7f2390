"""Values of vLLM production-stack's Helm chart, as its template turns them into a command and variables."""

import json
from typing import Any

from kvtiers.lint.command.expand import Scope
from kvtiers.lint.command.images import note_versions
from kvtiers.lint.command.inputs import Inputs
from kvtiers.lint.command.scripts import Caller, run_command
from kvtiers.lint.command.shell import Word
from kvtiers.lint.command.sizes import kubernetes_gib
from kvtiers.lint.forms.compose import as_variable
from kvtiers.lint.given import Container, Given, Mount, Source, Value
from kvtiers.lint.yaml_nodes import Node

_OPTIONS = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu-memory-utilization",
}
_VARIABLES = {
    "cpuOffloadingBufferSize": "LMCACHE_MAX_LOCAL_CPU_SIZE",
    "diskOffloadingBufferSize": "LMCACHE_MAX_LOCAL_DISK_SIZE",
    "enableController": "LMCACHE_ENABLE_CONTROLLER",
    "enablePD": "LMCACHE_ENABLE_PD",
}
_SHM_GIB = 20.0  # the chart's, where ranks need one


def is_values(node: Node) -> bool:
    """Are these values of that chart?"""
    engine = node.value.get("servingEngineSpec")
    return engine is not None and isinstance(engine.value, dict)


def read_values(source: Source, node: Node, inputs: Inputs, given: Given) -> None:
    """Add the server of each ``modelSpec``."""
    engine = node.value["servingEngineSpec"].value
    models = engine.get("modelSpec")
    for model in models.value if models is not None and isinstance(models.value, list) else []:
        if isinstance(model.value, dict):
            caller = Caller(source.name, inputs, given)
            _model(source, model, "vllmApiKey" in engine, "cacheserverSpec" in node.value, caller)


def _model(source: Source, model: Node, has_key: bool, has_cache_server: bool, caller: Caller) -> None:
    fields, line = model.value, model.line
    config, lmcache = (_mapping(fields.get(key)) for key in ("vllmConfig", "lmcacheConfig"))
    image = f"{_plain(fields, 'repository')}:{_plain(fields, 'tag')}"
    note_versions(image, source.name, fields["tag"].line if "tag" in fields else line, caller.given, caller.versions)
    words = [Word("vllm", line), Word("serve", line), Word(str(_plain(fields, "modelURL")), line)]
    if config is not None:
        words += _options(config)
    enabled = lmcache is not None and bool(_plain(lmcache.value, "enabled"))
    if lmcache is not None and enabled:
        words += _connector(config, lmcache)
        _settings(source, lmcache, caller)
    caller.environment["PYTHONHASHSEED"] = Value("123", source.name, line)
    if has_key:
        caller.environment["VLLM_API_KEY"] = Value("", source.name, line, literal=False)
    if has_cache_server and enabled:
        caller.environment["LMCACHE_REMOTE_URL"] = Value("", source.name, line, literal=False)
    for item in _list(fields.get("env")):
        entry = item.plain() if isinstance(item.value, dict) else {}
        if "name" in entry:
            value = Value(as_variable(entry.get("value")), source.name, item.line, "value" in entry)
            caller.environment[str(entry["name"])] = value
    caller.container = _container(source, fields, config)
    caller.scope = Scope()
    before = len(caller.given.servers)
    run_command(words, caller)
    for process in caller.given.servers[before:]:
        process.by_chart = True


def _options(config: Node) -> list[Word]:
    """Prefix caching is off unless it is asked for, once there is a vllmConfig."""
    words = [] if _plain(config.value, "enablePrefixCaching") else [Word("--no-enable-prefix-caching", config.line)]
    for key, option in _OPTIONS.items():
        if key in config.value:
            words.append(Word(f"{option}={_plain(config.value, key)}", config.keys[key]))
    return words + [Word(as_variable(item.value), item.line) for item in _list(config.value.get("extraArgs"))]


def _connector(config: Node | None, lmcache: Node) -> list[Word]:
    old = config is not None and str(_plain(config.value, "v0")) == "1"
    role = _plain(lmcache.value, "kvRole") or "kv_both"
    value = {"kv_connector": "LMCacheConnector" if old else "LMCacheConnectorV1", "kv_role": role}
    return [Word(f"--kv-transfer-config={json.dumps(value)}", lmcache.line)]


def _settings(source: Source, lmcache: Node, caller: Caller) -> None:
    for key, name in _VARIABLES.items():
        if key in lmcache.value:
            written = as_variable(_plain(lmcache.value, key))
            caller.environment[name] = Value(written, source.name, lmcache.keys[key])
    if "LMCACHE_MAX_LOCAL_CPU_SIZE" in caller.environment:
        caller.environment["LMCACHE_LOCAL_CPU"] = Value("True", source.name, lmcache.line)


def _container(source: Source, fields: dict[Any, Node], config: Node | None) -> Container:
    limit = fields.get("limitMemory")
    gib = kubernetes_gib(limit.value) if limit else None
    container = Container(f"{source.name} {_plain(fields, 'name')}", mounts=[])
    assert container.mounts is not None
    if limit and gib:
        container.memory = Value(gib, source.name, limit.line)
    if "pvcStorage" in fields:
        container.mounts.append(Mount("/data", kubernetes_gib(_plain(fields, "pvcStorage"))))
    if config is not None and "tensorParallelSize" in config.value:
        shm = kubernetes_gib(_plain(fields, "shmSize")) or _SHM_GIB
        container.shm = Value(shm, source.name, config.keys["tensorParallelSize"])
    for item in _list(fields.get("extraVolumeMounts")):
        entry = item.plain() if isinstance(item.value, dict) else {}
        container.mounts.append(Mount(str(entry.get("mountPath", ""))))
    return container


def _mapping(node: Node | None) -> Node | None:
    return node if node is not None and isinstance(node.value, dict) else None


def _list(node: Node | None) -> list[Node]:
    return node.value if node is not None and isinstance(node.value, list) else []


def _plain(fields: dict[Any, Node], key: str) -> Any:
    return fields[key].plain() if key in fields else None
