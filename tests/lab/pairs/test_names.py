"""Names out of a release's sources, and what came and went from release to release."""

import tomllib
import zipfile
from pathlib import Path

from lab.pairs.names import names_in, section

FILES = {
    "lmcache/v1/multiprocess/config.py": """
def add(parser):
    parser.add_argument("--shm-name", type=str)
    parser.add_argument("--l1-use-lazy", action=argparse.BooleanOptionalAction)
""",
    "lmcache/v1/distributed/l2_adapters/fs.py": 'register_l2_adapter_type(\n    "fs", Config)\n',
    "lmcache/v1/config.py": '_CONFIG_DEFINITIONS: dict[str, dict] = {\n    "chunk_size": {"type": int},\n}\n',
    "lmcache/integration/vllm/adapter.py": """
class ExtraConfigDefault(enum.Enum):
    default: Any
    mq_timeout = 300.0
HOST = extra.get("lmcache.mp.host")
""",
    "vllm/distributed/kv_transfer/kv_connector/factory.py": 'F.register_connector("LMCacheMPConnector", "m", "c")\n',
    "vllm/v1/kv_offload/tiering/factory.py": 'F.register_tier("fs", "m", "c")\n',
    "vllm/v1/kv_offload/base.py": 'size = extra_config.get("block_size")\n',
    "lmcache/v1/cache_controller/config.py": 'parser.add_argument("--another-programs")\n',
}


def test_every_kind_of_name_is_read_without_importing_anything(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    assert names_in(tmp_path / "a.whl") == {
        "server_options": {"shm-name", "l1-use-lazy", "no-l1-use-lazy"},
        "l2_adapters": {"fs"},
        "mp_keys": {"mq_timeout", "host"},
        "settings": {"chunk_size"},
        "connectors": {"LMCacheMPConnector"},
        "tiers": {"fs"},
        "offloading_keys": {"block_size"},
    }


def test_only_what_came_or_went_is_written() -> None:
    releases = {
        "0.5.2": {"mp_keys": frozenset({"port", "old"})},
        "0.5.10": {"mp_keys": frozenset({"port", "new"})},
    }
    assert tomllib.loads(section("lmcache", releases)) == {
        "lmcache": {
            "releases": ["0.5.2", "0.5.10"],
            "since": {"mp_keys": {"new": "0.5.10"}},
            "until": {"mp_keys": {"old": "0.5.2"}},
        }
    }
