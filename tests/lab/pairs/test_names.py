"""Names out of a release's sources, and what came and went from release to release."""

import tomllib
import zipfile
from pathlib import Path

from lab.pairs.names import Names, names_in, section

FILES = {
    "lmcache/v1/multiprocess/config.py": """
def add(parser):
    parser.add_argument("--shm-name", type=str)
    parser.add_argument("--http-host", default="0.0.0.0")
    parser.add_argument("--eviction-policy", choices=["LRU", "ARC"], required=True)
    parser.add_argument("--l1-use-lazy", action=argparse.BooleanOptionalAction, default=DEFAULT)
""",
    "lmcache/v1/distributed/l2_adapters/fs.py": """
class Config:
    def from_dict(cls, d):
        base_path, eviction = d["base_path"], d.get("eviction")
        direct = d.get("use_odirect", False)
        raise ValueError("base_path must be told")
    def help(cls):
        return "nothing"
register_l2_adapter_type(
    "fs", Config)
""",
    "lmcache/v1/distributed/l2_adapters/config.py": 'tag, kind = d.get("shared", False), d.get("eviction")\n',
    "lmcache/v1/config.py": '_CONFIG_DEFINITIONS: dict[str, dict] = {\n    "chunk_size": {"default": 256},\n}\n',
    "lmcache/integration/vllm/adapter.py": """
class ExtraConfigDefault(enum.Enum):
    default: Any
    mq_timeout = 300.0
HOST = extra.get("lmcache.mp.host")
""",
    "vllm/distributed/kv_transfer/kv_connector/factory.py": 'F.register_connector("LMCacheMPConnector", "m", "c")\n',
    "vllm/v1/kv_offload/tiering/factory.py": """
kind, slow = config.pop("type"), config.pop("backpressure", None)
F.register_tier("fs", "vllm.v1.kv_offload.tiering.fs", "Tier")
""",
    "vllm/v1/kv_offload/tiering/fs.py": """
class Tier:
    def __init__(self, offloading_spec, root_dir: str, n_read_threads: int = 16):
        pass
""",
    "vllm/v1/kv_offload/base.py": 'size = self.extra_config.get("block_size", 16)\n',
    "lmcache/v1/cache_controller/config.py": 'parser.add_argument("--another-programs")\n',
}


def test_every_kind_of_name_is_read_without_importing_anything(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    assert names_in(tmp_path / "a.whl") == {
        "server_options": {
            "shm-name": "null",
            "http-host": '"0.0.0.0"',
            "eviction-policy": "null",
            "l1-use-lazy": None,
            "no-l1-use-lazy": None,
        },
        "option_values": {"eviction-policy LRU": None, "eviction-policy ARC": None},
        "l2_adapters": {"fs": None},
        "l2_keys": {"shared": "false", "eviction": None, "fs base_path": None, "fs use_odirect": "false"},
        "mp_keys": {"mq_timeout": "300.0", "host": None},
        "settings": {"chunk_size": "256"},
        "connectors": {"LMCacheMPConnector": None},
        "tiers": {"fs": None},
        "tier_keys": {"fs root_dir": None, "fs n_read_threads": "16", "fs backpressure": None},
        "offloading_keys": {"block_size": "16"},
    }


def test_only_what_came_or_went_is_written() -> None:
    releases: dict[str, Names] = {
        "0.5.2": {"mp_keys": {"port": "5555", "old": None}},
        "0.5.10": {"mp_keys": {"port": "5555", "new": None}},
    }
    assert tomllib.loads(section("lmcache", releases)) == {
        "lmcache": {
            "releases": ["0.5.2", "0.5.10"],
            "since": {"mp_keys": {"new": "0.5.10"}},
            "until": {"mp_keys": {"old": "0.5.2"}},
        }
    }


def test_a_default_is_written_where_it_changed_and_every_release_tells_it() -> None:
    releases: dict[str, Names] = {
        "0.5.4": {"server_options": {"http-host": '"0.0.0.0"', "computed": "1", "port": "5555"}},
        "0.5.5": {"server_options": {"http-host": '"0.0.0.0"', "computed": None, "port": "5555"}},
        "0.5.6": {"server_options": {"http-host": '"127.0.0.1"', "computed": "2", "port": "5555"}},
    }
    written = tomllib.loads(section("lmcache", releases))["lmcache"]["defaults"]
    assert written == {"server_options": {"http-host": {"0.5.4": '"0.0.0.0"', "0.5.6": '"127.0.0.1"'}}}


def test_a_key_that_came_with_its_adapter_is_not_written() -> None:
    releases: dict[str, Names] = {
        "0.5.1": {"l2_adapters": {"fs": None}, "l2_keys": {"fs base_path": None}},
        "0.5.2": {
            "l2_adapters": {"fs": None, "s3": None},
            "l2_keys": {"fs base_path": None, "fs shared": None, "s3 region": None},
        },
    }
    since = tomllib.loads(section("lmcache", releases))["lmcache"]["since"]
    assert since == {"l2_adapters": {"s3": "0.5.2"}, "l2_keys": {"fs shared": "0.5.2"}}
