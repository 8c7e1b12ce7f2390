"""Run by the engine's Python: settings as LMCache loads them. Cases in, one object a line out."""

import argparse
import json
import os
import sys
import tempfile

from lmcache.cli.commands.server import ServerCommand
from lmcache.v1 import config as lmcache_config
from lmcache.v1.distributed.l2_adapters.config import parse_args_to_l2_adapters_config
from vllm.config import KVTransferConfig
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory


def main() -> None:
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
    }


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


def server(case: dict) -> dict:
    parser = argparse.ArgumentParser()
    ServerCommand().add_arguments(parser)
    arguments = parser.parse_args(case["arguments"])
    adapters = parse_args_to_l2_adapters_config(arguments).adapters
    return {"l1_size_gb": arguments.l1_size_gb, "adapters": [type(adapter).__name__ for adapter in adapters]}


JOBS = {
    "connector": connector,
    "server": server,
    "definitions": definitions,
    "file": load_file,
    "environment": load_environment,
}

if __name__ == "__main__":
    main()
