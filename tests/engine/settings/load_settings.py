"""Run by the engine's Python: settings as LMCache loads them. Cases in, one object a line out."""

import argparse
import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

from lmcache.cli.commands.server import ServerCommand
from lmcache.integration.vllm import vllm_multi_process_adapter as mp_adapter
from lmcache.v1 import config as lmcache_config
from lmcache.v1.distributed import l2_adapters
from lmcache.v1.distributed.config import parse_args_to_config
from lmcache.v1.multiprocess.config import parse_args_to_http_frontend_config, parse_args_to_mp_server_config
from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1 import offloading
from vllm.v1.kv_offload import base, factory
from vllm.v1.kv_offload.cpu import spec as cpu_spec
from vllm.v1.kv_offload.tiering import spec as tiering_spec
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory

OFFLOADING = (base, factory, cpu_spec, tiering_spec, offloading)


def main() -> None:
    # The S3 adapter's client is not in the lab's environment; to read the adapter's settings nothing of it is needed.
    for module in ("awscrt", "awscrt.http", "awscrt.io"):
        sys.modules.setdefault(module, MagicMock())
    cases = json.load(sys.stdin)
    for case in cases:
        try:
            result = JOBS[case["job"]](case)
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"name": case["name"], **result}, default=str), flush=True)


def definitions(case: dict) -> dict:
    return {
        "converters": {
            name: getattr(entry["env_converter"], "__name__", "")
            for name, entry in lmcache_config._CONFIG_DEFINITIONS.items()
        },
        "defaults": {name: entry["default"] for name, entry in lmcache_config._CONFIG_DEFINITIONS.items()},
        "aliases": lmcache_config._CONFIG_ALIASES,
        "deprecated": sorted(lmcache_config._DEPRECATED_CONFIGS),
        "connectors": sorted(KVConnectorFactory._registry),
        "tiers": {name: tier_keys(loader) for name, loader in SecondaryTierFactory._registry.items()},
        "offloading_keys": looked_up(OFFLOADING, r'extra_config(?:\.get\(|\[)\s*"(\w+)"'),
        "server_options": [option for action in server_parser()._actions for option in action.option_strings],
        "l2_adapters": looked_up(l2_adapters, r'(?m)^register_l2_adapter_type\(\s*"([\w-]+)"'),
    }


def tier_keys(loader: Callable[[], type]) -> list[list[str]] | None:
    """What a tier requires, and what else it takes; None where its package is not there."""
    try:
        parameters = [*inspect.signature(loader().__init__).parameters.values()][4:]
    except ImportError:
        return None
    named = [one for one in parameters if one.kind is not one.VAR_KEYWORD and one.name != "backpressure_detector"]
    required = [one.name for one in named if one.default is one.empty]
    takes_any = len(named) + 1 < len(parameters) or any(one.kind is one.VAR_KEYWORD for one in parameters)
    return [required, [] if takes_any else [one.name for one in named if one.name not in required]]


def looked_up(modules: Iterable[ModuleType] | ModuleType, pattern: str) -> list[str]:
    """Names in the sources of modules, and of packages' own files: some import only what is not there."""
    found = set()
    for module in [modules] if isinstance(modules, ModuleType) else modules:
        path = Path(module.__file__)
        for file in path.parent.glob("*.py") if path.name == "__init__.py" else [path]:
            found |= set(re.findall(pattern, file.read_text(encoding="utf-8")))
    return sorted(found)


def load_file(case: dict) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(case["text"])
        file.flush()
        return _values(lmcache_config.LMCacheEngineConfig.from_file(file.name))


def load_environment(case: dict) -> dict:
    for name in [name for name in os.environ if name.startswith("LMCACHE_")]:
        del os.environ[name]
    os.environ.update(case["environment"])
    return _values(lmcache_config.LMCacheEngineConfig.from_env())


def _values(config: object) -> dict:
    config.validate()
    values = {name: getattr(config, name) for name in lmcache_config._CONFIG_DEFINITIONS}
    values["lmcache_instance_id"] = None  # made up anew by each process
    return {"values": values}


def connector(case: dict) -> dict:
    config = KVTransferConfig(**case["config"])
    return {"class": KVConnectorFactory.get_connector_class(config).__name__}


def server_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    ServerCommand().add_arguments(parser)
    return parser


def server(case: dict) -> dict:
    arguments = server_parser().parse_args(case["arguments"])
    mp, http = parse_args_to_mp_server_config(arguments), parse_args_to_http_frontend_config(arguments)
    storage = parse_args_to_config(arguments)
    memory = storage.l1_manager_config.memory_config
    names = ("host", "port", "chunk_size", "max_workers", "supported_transfer_mode", "shm_name")
    return {
        "server": {name: getattr(mp, name) for name in names}
        | {"http_host": http.http_host, "http_port": http.http_port},
        "l1_bytes": memory.size_in_bytes,
        "l1_grows": memory.use_lazy,
        "adapters": [
            {
                "class": type(adapter).__name__,
                "fields": {
                    name: value for name, value in vars(adapter).items() if isinstance(value, str | int | float)
                },
                "evicts": adapter.eviction_config is not None,
            }
            for adapter in storage.l2_adapter_config.adapters
        ],
    }


def mp_connector(case: dict) -> dict:
    config = KVTransferConfig(**case["config"])
    extra = config.kv_connector_extra_config
    known = {f"lmcache.mp.{item.name}" for item in mp_adapter.ExtraConfigDefault} | {
        "lmcache.mp.host",
        "lmcache.mp.port",
    }
    return {
        "server_url": f"{extra['lmcache.mp.host']}:{extra['lmcache.mp.port']}",
        "policy": config.kv_load_failure_policy,
        "resolved": mp_adapter._resolve_extra_config(extra),
        "unknown": sorted(set(extra) - known),
    }


JOBS = {
    "connector": connector,
    "server": server,
    "mp_connector": mp_connector,
    "definitions": definitions,
    "file": load_file,
    "environment": load_environment,
}

if __name__ == "__main__":
    main()
