"""Every message that refuses input has words in Traditional Chinese."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from kvtiers.errors import KvtiersError
from kvtiers.lint import Source, lint
from kvtiers.model import kv_spec, parse_config
from kvtiers.result.schema import read_result
from kvtiers.words.refusals import refusal

CODE = Path(__file__).parents[3] / "kvtiers"
ENGLISH = re.compile(r"[A-Za-z']+(?: [A-Za-z']+)+")

WRITTEN_SO = re.compile(
    r"`[^`]*`|pip install pyyaml|helm template|--as systemd|lab run --wiring in-process|vLLM production-stack"
)  # in any language


def english_in(said: str) -> bool:
    return bool(ENGLISH.search(WRITTEN_SO.sub("", said)))


def messages() -> Iterator[str]:
    """What the code can raise, each value a 7."""
    for path in sorted(CODE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("KvtiersError", "_ForeignError"):
                parts = getattr(call.args[0], "values", [call.args[0]])
                said = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)
                if " " in said:
                    yield said
    yield from contradictions()


def contradictions() -> Iterator[str]:
    """Why evidence may not fit: every sentence of that module but its docstrings."""
    for function in ast.parse((CODE / "result" / "evidence.py").read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef):
            for node in (each for part in function.body if not isinstance(part, ast.Expr) for each in ast.walk(part)):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    yield "no token was generated"


@pytest.mark.parametrize("message", sorted(set(messages())))
def test_a_refusal_has_words_in_chinese(message: str) -> None:
    said = refusal(KvtiersError(message), "zh-TW")
    assert re.search(r"[\u4e00-\u9fff]", said)
    assert not english_in(said)
    assert refusal(KvtiersError(message), "en") == message


@pytest.mark.parametrize(
    "command",
    [
        "worth-it --kv-bytes-per-token 0 --prefix 1 --requests-per-hour 1 --prefill-tokens-per-s 1 --repeated 0.5",
        "worth-it --kv-bytes-per-token 1 --prefix 1 --requests-per-hour 1 --prefill-tokens-per-s 1 --repeated 2",
        "plan --kv-bytes-per-token 1 --context 0 --prefixes 1 --free-vram-gib 1 --cpu-ram-gib 1",
        "plan --context 1 --prefixes 1 --free-vram-gib 1 --cpu-ram-gib 1",
        "lint",
        "lint none.sh",
        "lint - -",
        "diagnose none.log",
        "size none.json",
        "size {}",
        "diagnose --requests -1 none.log",
    ],
)
def test_a_command_refuses_in_the_language_asked_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--language", "zh-TW"]) == 2
    said = capsys.readouterr().err.partition(": ")[2]
    assert re.search(r"[\u4e00-\u9fff]", said)
    assert not english_in(said)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a" 1}',
        "{} {}",
        '{"a":"x',
        "[1]",
        "{}",
        '{"num_hidden_layers": 0}',
        '{"num_hidden_layers": 1, "layer_types": [1]}',
    ],
)
def test_a_config_that_cannot_be_read_is_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        kv_spec(parse_config(text), "fp16")
    assert not ENGLISH.search(refusal(caught.value, "zh-TW"))


@pytest.mark.parametrize(
    "text", ["a: [\n b: {", "a:\n\t- b", "a: b: c", 'a: "x\n', 'a: "\\q"', "a: *x", "a: {{ x }}\nb: 1", 'vllm "x']
)
def test_settings_that_cannot_be_read_are_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        lint([Source("貼上的內容", text)])
    said = refusal(caught.value, "zh-TW")
    assert said.startswith("貼上的內容，第 ")
    assert not english_in(said)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": "kvtiers.lab-result/2"}', '{"schema": 1}'])
def test_a_result_that_cannot_be_read_is_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        read_result(text)
    assert not ENGLISH.search(refusal(caught.value, "zh-TW"))
