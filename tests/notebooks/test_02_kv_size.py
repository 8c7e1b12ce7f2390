import json
from typing import Any

import pytest

from kvtiers.model import kv_spec
from kvtiers.model.public import public_models
from kvtiers.units import GIB, KIB
from tests.notebooks.conftest import ENGLISH, Runner

QWEN3_4B = json.dumps(
    {
        "model_type": "qwen3",
        "hidden_size": 2560,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
    }
)


def test_key_sizes(run: Runner) -> None:
    notebook = run("02_kv_size")
    assert notebook["spec"].bytes_per_token == 128 * KIB
    sizes = list(notebook["load_bytes"].values())
    assert sizes[2:5] == [4 * GIB, 10 * GIB, 16 * GIB]
    assert sizes[5] / GIB == pytest.approx(122, abs=0.1)
    for figure in ("128 KiB", "16 GiB", "122 GiB"):
        assert figure in notebook.shown


def test_formula(run: Runner) -> None:
    notebook = run("02_kv_size", layers=36, kv_heads=4, head_dim=64, kv_type="fp8")
    assert notebook["bytes_per_token"](36, 4, 64, 1) == notebook["spec"].bytes_per_token


@pytest.mark.parametrize("model", public_models())
def test_shows_every_public_model_without_an_english_sentence(run: Runner, model: str) -> None:
    notebook = run("02_kv_size", "zh-TW", source="public", public=model)
    assert notebook["spec"].bytes_per_token == kv_spec(public_models()[model], "fp16").bytes_per_token
    assert notebook.shown.count('role="img"') == 3
    assert ENGLISH.findall(notebook.prose) == []


def test_reserves_more_than_it_keeps_without_the_hybrid_manager(run: Runner) -> None:
    notebook = run("02_kv_size", source="public", public="gpt-oss-120b")
    kept, _, without_manager = notebook["kept_and_reserved"].values()
    assert without_manager > 1.9 * kept


def test_fp8_halves(run: Runner) -> None:
    assert run("02_kv_size", kv_type="fp8")["spec"].bytes_per_token == 64 * KIB


@pytest.mark.parametrize("how", ["pasted", "dropped"])
def test_reads_a_config(run: Runner, language: str, how: str) -> None:
    config: dict[str, Any] = {"pasted": QWEN3_4B} if how == "pasted" else {"dropped": QWEN3_4B.encode(), "pasted": "{"}
    assert run("02_kv_size", language, source="file", **config)["spec"].bytes_per_token == 144 * KIB


@pytest.mark.parametrize("text", ["", "{", "[]", '{"num_hidden_layers": -1}', '{"num_hidden_layers": "<b>"}'])
def test_bad_config_gets_one_message(run: Runner, language: str, text: str) -> None:
    notebook = run("02_kv_size", language, source="file", pasted=text)
    assert "spec" not in notebook.names
    assert "danger" in notebook.shown
    assert "<b>" not in notebook.shown
