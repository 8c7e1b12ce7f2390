"""Every Chinese text that a reader sees is written as in Taiwan, with one word for one thing."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.lessons.prose import LESSONS, PROJECT, prose

CJK = "\u3400-\u9fff"
# Words of China rather than of Taiwan, and characters that only simplified Chinese has.
NOT_TAIWAN = re.compile("緩存|服務器|內存|帶寬|默認|軟件|硬件|網絡|用戶(?!端)|加載|信息|視頻|字節|程序|數據|校驗")
SIMPLIFIED = "为这个们来说时会对没发还进过长关开问题级记忆载带宽数据层块压缩请应让给"
# A second word for what has a first one (提示詞, 檢查碼, 查詢, 載回, 硬碟, CPU 記憶體), and what reads as translated.
OTHER_WORDS = re.compile(
    "提示(?!詞)|查找|(?<!快)取回|磁碟|CPU RAM|activation|冷請求"
    "|快載|知道更好|灌水|圍牆|上一輩子|一件衣服|(?<!回)答應|老實|RAG 前言"
)
FILES = [
    *(*LESSONS.rglob("zh-TW.md"), *LESSONS.rglob("quiz.yaml"), *PROJECT.glob("notebooks/*.py")),
    *(LESSONS / f"{name}.yaml" for name in ("claims", "glossary", "questions")),
    *(PROJECT / "README.zh-TW.md", *PROJECT.glob("docs/*.zh-TW.md"), PROJECT / "site" / "strings" / "zh-TW.toml"),
    *(path for path in PROJECT.glob("kvtiers/**/*.toml") if re.search(f"[{CJK}]", path.read_text())),
]


def texts(path: Path) -> list[str]:
    """The Chinese texts of a file: all of a page, an entry's zh-TW, a string with Chinese in code."""
    match path.suffix:
        case ".md":
            return [path.read_text()]
        case ".py":
            strings = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
            return [text for text in strings if isinstance(text, str) and re.search(f"[{CJK}]", text)]
        case ".toml":
            return list(entries(tomllib.loads(path.read_text()), every="zh" in path.stem))
        case _:
            return list(entries(yaml.safe_load(path.read_text()), every=False))


def entries(content: object, every: bool) -> Iterator[str]:
    """``every``: the file holds Chinese alone; else what stands under zh-TW."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield from entries(value, every or key == "zh-TW")
    elif isinstance(content, list):
        for item in content:
            yield from entries(item, every)
    elif every and isinstance(content, str):
        yield content


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_chinese_is_written_as_in_taiwan(path: Path) -> None:
    found = texts(path)
    assert found
    for text in found:
        assert NOT_TAIWAN.findall(text) == [], text
        assert OTHER_WORDS.findall(text) == [], text
        assert set(text) & set(SIMPLIFIED) == set(), text
        for run in prose(text):
            assert not re.search(rf"[{CJK}][A-Za-z0-9]|[A-Za-z0-9][{CJK}]", run), run
            assert not re.search(rf"[{CJK}][,;:?!]|[,;:?!][{CJK}]", run), run


def test_a_second_word_is_found() -> None:
    assert OTHER_WORDS.findall("快取回應了提示詞，從磁碟取回提示") == ["磁碟", "取回", "提示"]
    assert OTHER_WORDS.findall("由分頁快載回應") == ["快載"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_percentage_is_written_one_way(path: Path) -> None:
    assert re.findall(r"[\d}] %", path.read_text()) == []
