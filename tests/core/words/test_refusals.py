"""Every message that refuses input has words in Traditional Chinese."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtiers.errors import KvtiersError
from kvtiers.lint import Source, lint
from kvtiers.model import kv_spec, parse_config
from kvtiers.result.schema import read_result
from kvtiers.words.refusals import refusal

CODE = Path(__file__).parents[3] / "kvtiers"
ENGLISH = re.compile(r"[A-Za-z']+(?: [A-Za-z']+){2,}")


def messages() -> Iterator[str]:
    """What the code that reads pasted or dropped text can raise, each value a 7."""
    for folder in ("model", "result", "lint", "settings"):
        for path in sorted((CODE / folder).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "KvtiersError":
                    parts = getattr(call.args[0], "values", [call.args[0]])
                    said = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)
                    if " " in said:
                        yield said


@pytest.mark.parametrize("message", sorted(set(messages())))
def test_a_refusal_has_words_in_chinese(message: str) -> None:
    said = refusal(KvtiersError(message), "zh-TW")
    assert re.search(r"[\u4e00-\u9fff]", said)
    assert not ENGLISH.search(said.replace("pip install pyyaml", ""))
    assert refusal(KvtiersError(message), "en") == message


@pytest.mark.parametrize("text", ["", "{", '{"a" 1}', "{} {}", '{"a":"x', "[1]", "{}", '{"num_hidden_layers": 0}'])
def test_a_config_that_cannot_be_read_is_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        kv_spec(parse_config(text), "fp16")
    assert not ENGLISH.search(refusal(caught.value, "zh-TW"))


@pytest.mark.parametrize(
    "text", ["a: [\n b: {", "a:\n\t- b", "a: b: c", 'a: "x\n', "a: *x", "a: {{ x }}\nb: 1", 'vllm "x']
)
def test_settings_that_cannot_be_read_are_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        lint([Source("貼上的內容", text)])
    said = refusal(caught.value, "zh-TW")
    assert said.startswith("貼上的內容，第 ")
    assert not ENGLISH.search(said)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": "kvtiers.lab-result/2"}', '{"schema": 1}'])
def test_a_result_that_cannot_be_read_is_refused_in_chinese(text: str) -> None:
    with pytest.raises(KvtiersError) as caught:
        read_result(text)
    assert not ENGLISH.search(refusal(caught.value, "zh-TW"))
