"""``python -m kvtiers size``: what a user types and reads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from kvtiers.model.public import public_models

LLAMA = json.dumps(public_models()["Llama-3.1-8B"])


def size(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main(["size", *arguments, "--json"]) == 0
    printed: dict[str, object] = json.loads(capsys.readouterr().out)
    return printed


def test_json_has_the_promised_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = size(capsys, LLAMA, "--context", "32768", "--users", "4")
    assert numbers["bytes_per_token"] == 131_072
    assert numbers["fixed_bytes_per_sequence"] == 0
    assert numbers["kept_bytes"] == numbers["reserved_bytes"] == 4 * 32_768 * 131_072
    assert numbers["warnings"] == []
    assert "num_key_value_heads" in str(numbers["config_keys"])


def test_a_file_and_its_folder_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(LLAMA, encoding="utf-8")
    assert size(capsys, str(tmp_path)) == size(capsys, str(tmp_path / "config.json")) == size(capsys, LLAMA)


def test_options_reach_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert size(capsys, LLAMA, "--kv-dtype", "fp8")["bytes_per_token"] == 65_536
    assert size(capsys, LLAMA, "--context", "100", "--tp", "16")["kept_bytes"] == 2 * 100 * 131_072
    assert size(capsys, LLAMA, "--context", "100", "--block-size", "128")["reserved_bytes"] == 128 * 131_072
    assert size(capsys, LLAMA, "--chunk-size", "512")["smallest_tier_hit_tokens"] == 512
    gemma = json.dumps(public_models()["Gemma-3-27B"])
    without = size(capsys, gemma, "--context", "131072", "--no-hybrid-manager")
    assert without["reserved_bytes"] == 131_072 * 507_904


def test_a_context_beyond_the_models_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert "longer" in str(size(capsys, LLAMA, "--context", "200000")["warnings"])


def test_the_text_explains_each_kind_of_layer_by_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", json.dumps(public_models()["gpt-oss-20b"])]) == 0
    text = capsys.readouterr().out
    assert "24,576 B (24 KiB)" in text
    assert "12 x sliding · 2,048 B a token · last 128 tokens" in text
    assert "sliding_window" in text
    assert "hybrid: 2 groups" in text


def test_a_reservation_says_what_it_assumes_and_what_a_larger_card_makes_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = json.dumps(public_models()["gpt-oss-20b"])
    larger = size(capsys, config, "--max-num-batched-tokens", "8192")["reserved_bytes"]
    numbers = size(capsys, config)
    assert numbers["reserved_bytes"] != larger
    assert numbers["reserved_bytes_by_batched_tokens"] == {
        tokens: size(capsys, config, "--max-num-batched-tokens", tokens)["reserved_bytes"]
        for tokens in ("2048", "8192", "16384")
    }
    assert main(["size", config]) == 0
    text = capsys.readouterr().out
    assert "--max-num-batched-tokens 2,048" in text
    assert f"{larger:,} B" in text
    assert "from 70 GiB of GPU memory" in text


@pytest.mark.parametrize("text", ['{"a":' + "[" * 100_000, '{"a":' * 100_000])
def test_what_is_nested_too_deeply_is_refused_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", text]) == 2
    said = capsys.readouterr().err
    assert "nested too deeply" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nowhere.json"], "nowhere.json"),
        (['{"model_type": "llama"}'], "num_hidden_layers"),
        ([LLAMA, "--kv-dtype", "fp7"], "kv_dtype"),
        ([LLAMA, "--context", "-1"], "context"),
        ([LLAMA, "--context", "0"], "context"),
        ([LLAMA, "--users", "0"], "users"),
        ([LLAMA, "--tp", "3"], "tp=3"),
        ([LLAMA, "--block-size", "0"], "block_size"),
        ([LLAMA, "--chunk-size", "0"], "chunk"),
    ],
)
def test_bad_input_is_one_line_that_names_it(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", *arguments]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m kvtiers size '{LLAMA}' | true"
    assert subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stderr == ""
