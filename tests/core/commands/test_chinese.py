"""What the doctor prints in Chinese has Chinese punctuation, and a word where a value is empty."""

import json
import re
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from kvtiers.model.public import public_models
from kvtiers.words import columns
from tests.core.lint.builders import SERVE
from tests.core.logs.builders import DATA

HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:?!]|[,;:?!] ?[\u4e00-\u9fff]")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main([*arguments, "--language", "zh-TW"])
    return capsys.readouterr().out


def test_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"export LMCACHE_QQZZ=1 LMCACHE_REMOTE_URL=nowhere\n{SERVE}\n")
    findings = said(capsys, "lint", str(script))
    assert f"{script}，第 1 行：警告：" in findings
    assert "做法：最接近的已知名稱：無。" in findings
    assert HALF_WIDTH.findall(findings) == []


@pytest.mark.parametrize("model", ["gpt-oss-20b", "Llama-3.1-8B"])
def test_sizes(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns of Chinese letters stand below each other; what is English is a name."""
    sizes = said(capsys, "size", json.dumps(public_models()[model]), "--context", "200000")
    assert HALF_WIDTH.findall(sizes) == []
    assert "警告：上下文 200,000 比 config 的上限 131,072 還長" in sizes
    (per_token, kept) = (line for line in sizes.splitlines() if line.startswith(("每個 token ", "要留下的")))
    assert len({columns(re.split(r"\d[\d,]* B", line)[0]) for line in (per_token, kept)}) == 1


@pytest.mark.parametrize("log", ["limit0", "mp_server", "restart"])
def test_logs(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    diagnosis = said(capsys, "diagnose", str(DATA / f"{log}.log"))
    assert "下一步：" in diagnosis
    assert not re.search(r"： *(-|)$", diagnosis, re.MULTILINE)
    assert HALF_WIDTH.findall(diagnosis) == []
