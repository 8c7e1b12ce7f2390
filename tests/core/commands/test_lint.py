"""``kvtiers lint``: files and standard input in, findings and an exit status out."""

import io
import json
from pathlib import Path

import pytest

from kvtiers.__main__ import main
from tests.core.lint.builders import SERVE, SERVE_MP


def test_the_command_says_findings_with_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.sh", tmp_path / "bad.sh"
    good.write_text(SERVE_MP)
    bad.write_text(SERVE_MP + " --no-enable-prefix-caching")
    assert main(["lint", str(good)]) == 0
    capsys.readouterr()
    assert main(["lint", "--json", str(bad)]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [finding["id"] for finding in said["findings"]] == ["prefix_caching_off"]
    assert main(["lint", str(tmp_path / "none")]) == 2
    assert main(["lint"]) == 2
    (tmp_path / "words").write_text("nothing of the kind")
    assert main(["lint", str(tmp_path / "words")]) == 2
    capsys.readouterr()
    assert main(["lint", str(tmp_path / "words"), str(good)]) == 2
    said_of = capsys.readouterr().err
    assert str(tmp_path / "words") in said_of
    assert str(good) not in said_of
    (tmp_path / "server.log").write_text("x" * 3_000_000)
    assert main(["lint", str(tmp_path / "server.log")]) == 2
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    assert main(["lint", str(tmp_path / "binary")]) == 2


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_what_cannot_be_read_keeps_nothing_from_being_read(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.sh").write_text(SERVE_MP)
    (tmp_path / "web.yaml").write_text("host: 0.0.0.0\nport: 80\n")
    (tmp_path / "words.txt").write_text("nothing of the kind")
    files = [str(tmp_path / name) for name in ("none.sh", "web.yaml", "good.sh", "words.txt")]
    assert main(["lint", "--language", language, *files]) == 2
    said = capsys.readouterr()
    assert "good.sh" in said.out
    assert [line for line in said.err.splitlines() if "good.sh" in line or not line.startswith("kvtiers lint: ")] == []
    assert [name for name in ("none.sh", "web.yaml", "words.txt") if name not in said.err] == []
    assert ("這裡" in said.err) is (language == "zh-TW")


def test_of_a_folder_what_starts_vllm_and_is_not_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.sh").write_text(f"LMCACHE_CONFIG_FILE=/etc/kv.yaml {SERVE_MP}")
    (tmp_path / "kv.yaml").write_text("chunk_size: 256\nours: 1\ntheirs: 2\n")
    (tmp_path / "prometheus.yml").write_text("global: {}\nscrape_configs: []\n")
    (tmp_path / "app.nomad").write_text('job "x" {\n command = "vllm serve m"\n}\n')
    (tmp_path / "own.py").write_text("from vllm import LLM\n")
    (tmp_path / "other.py").write_text("import json\n")
    (tmp_path / "README.md").write_text("vllm serve m\n")
    main(["lint", "--json", str(tmp_path)])
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    skipped, read = " ".join(coverage["skipped"]), " ".join(coverage["read"])
    assert [name for name in ("app.nomad", "own.py", "prometheus.yml") if name not in skipped] == []
    assert [name for name in ("other.py", "README.md", "kv.yaml") if name in skipped] == []
    assert "kv.yaml" in read


@pytest.mark.parametrize("arguments", [["-", "-"], ["-", "--mounts", "-"]])
def test_standard_input_is_read_once_and_stays_open(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(SERVE_MP.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["lint", *arguments]) == 2
    assert "standard input can be read once" in capsys.readouterr().err
    assert main(["lint", "-"]) == 0
    assert not stdin.closed


def test_an_argument_is_named_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.sh").write_text(SERVE_MP)
    assert main(["lint", "--prefix-tokens", "0", str(tmp_path / "good.sh")]) == 2
    assert "--prefix-tokens" in capsys.readouterr().err


@pytest.mark.parametrize(("language", "label"), [("en", "in the course: "), ("zh-TW", "課程頁面：")])
def test_a_bad_pair_of_versions_is_said_in_one_language(
    language: str, label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "install.sh"
    pins.write_text(f"pip install vllm==0.11.0 lmcache==0.3.8\n{SERVE}\n")
    assert main(["lint", "--language", language, "--json", str(pins)]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["id"] == "version_pair"
    assert finding["values"]["what"] in finding["what"]
    assert main(["lint", "--language", language, str(pins)]) == 1
    assert f"{label}version-pairs" in capsys.readouterr().out
