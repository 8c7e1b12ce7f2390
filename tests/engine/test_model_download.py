"""Bringing a model with the engine's own hub client, from a small hub of this test's own."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lab.engines import models
from lab.engines.models import bring, preset_config, weight_bytes
from lab.engines.presets import choose_preset
from lab.errors import LabError
from tests.engine.python import interpreter
from tests.lab.answering import Answering, serving

pytestmark = pytest.mark.engine
SHA = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"model_type": "qwen3"}',
    "model.safetensors": b"w" * 50_000,
    "tokenizer.json": b"{}",
    "README.md": b"not fetched",
    "original/weights.pth": b"not fetched",
}


@dataclass
class Hub:
    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))
    status: int = 200
    error: str = ""  # of the header X-Error-Code
    claimed_bytes: int = 0
    asked: list[str] = field(default_factory=list)


class _Handler(Answering, BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub = self.hub
        hub.asked.append(self.path)
        name = self.path.partition("/resolve/main/")[2]
        if hub.status != 200:
            self._answer(b"{}", hub.status)
        elif self.path.startswith("/api/models/"):
            siblings = [{"rfilename": name, "size": hub.claimed_bytes or len(data)} for name, data in hub.files.items()]
            self._answer(json.dumps({"id": "some/model", "sha": SHA, "siblings": siblings}).encode())
        elif name in hub.files:
            self._answer(hub.files[name])
        else:
            self._answer(b"", 404)

    def _answer(self, body: bytes, status: int = 200) -> None:
        headers = {"X-Repo-Commit": SHA, "ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        self.answer(status, body, headers | ({"X-Error-Code": self.hub.error} if self.hub.error else {}))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    served = Hub()
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr(models, "engine_python", lambda engine: interpreter())
    with serving(_Handler, hub=served) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield served


MODEL = choose_preset(None, "some/model", "cpu")


def test_a_model_is_brought_once_with_what_an_engine_loads_and_then_needs_no_network(hub: Hub) -> None:
    directory = bring(MODEL)
    assert {path.name for path in directory.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert weight_bytes(MODEL, directory) == 50_000
    hub.status = 500
    asked = len(hub.asked)
    assert bring(MODEL) == directory
    assert preset_config(MODEL)["model_type"] == "qwen3"
    assert len(hub.asked) == asked
    assert all("some/model" in path for path in hub.asked)  # of us the hub is told nothing else


def test_for_a_dry_run_the_config_alone_is_fetched(hub: Hub) -> None:
    preset_config(MODEL)
    assert [path for path in hub.asked if "safetensors" in path] == []


def test_a_download_that_broke_off_is_completed(hub: Hub) -> None:
    weights = hub.files.pop("model.safetensors")
    hub.files["model-00001-of-00002.safetensors"] = weights
    hub.files["model.safetensors.index.json"] = json.dumps(
        {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    ).encode()
    with pytest.raises(LabError):
        bring(MODEL)
    hub.files["model-00002-of-00002.safetensors"] = weights
    assert weight_bytes(MODEL, bring(MODEL)) == 100_000


def test_what_came_before_it_broke_off_needs_no_room_again(hub: Hub, tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    hub.claimed_bytes = free // 2  # of each of three files
    with pytest.raises(LabError, match="GB more"):
        bring(MODEL)
    blobs = tmp_path / "hf" / "hub" / "models--some--model" / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    with (blobs / "whole").open("wb") as blob:
        blob.truncate(free)  # takes no room itself
    assert bring(MODEL)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"status": 403, "error": "GatedRepo"},
            r"some/model is gated: accept its licence at http.*/some/model.*HF_TOKEN",
        ),
        ({"status": 404, "error": "RepoNotFound"}, r"has no model some/model, or it is private"),
        ({"status": 401}, r"refused the token for some/model: check HF_TOKEN"),
        ({"status": 503}, r"answered 503 for some/model"),
        ({"claimed_bytes": 10**18}, r"some/model takes .* GB more, and .* GB free: make room, or set HF_HOME"),
        ({"files": {"config.json": b"{}", "pytorch_model.bin": b"x"}}, "no weights in safetensors files"),
    ],
    ids=["gated", "missing", "wrong token", "down", "full drive", "no safetensors"],
)
def test_a_fault_is_one_line(hub: Hub, changes: dict[str, object], said: str) -> None:
    for name, value in changes.items():
        setattr(hub, name, value)
    with pytest.raises(LabError, match=said) as caught:
        bring(MODEL)
    assert "\n" not in str(caught.value)


def test_without_a_network_a_directory_is_named_as_the_way_out(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(LabError, match=r"cannot fetch some/model .*check the network.*give --model a directory"):
        bring(MODEL)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(LabError, match="HF_HUB_OFFLINE forbids"):
        bring(MODEL)


def test_a_directory_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    (tmp_path / "model.safetensors").write_bytes(b"w" * 100)
    own = choose_preset(None, str(tmp_path), "cpu")
    assert weight_bytes(own, bring(own)) == 100
    assert hub.asked == []
