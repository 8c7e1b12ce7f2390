"""What `uvx --from . kvtiers` and `pipx install .` install: one small wheel, one command; only lint needs PyYAML."""

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3]
LOG = PROJECT / "tests" / "core" / "data" / "logs" / "cpu.log"
CONFIG = '{"num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64}'
BYTES = ["--kv-bytes-per-token", "131072"]
PLAN = ["plan", *BYTES, "--context", "131072", "--prefixes", "20", "--free-vram-gib", "10", "--cpu-ram-gib", "64"]
WORTH = ["worth-it", *BYTES, "--prefix", "8000", "--requests-per-hour", "60", "--prefill-tokens-per-s", "5000"]
LARGEST_BYTES = 300_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def command(wheel: Path) -> Path:
    """The script that an installer writes for the wheel's entry point, with the wheel itself for its folder."""
    with zipfile.ZipFile(wheel) as bundle:
        (name,) = [name for name in bundle.namelist() if name.endswith("entry_points.txt")]
        entries = ConfigParser()
        entries.read_string(bundle.read(name).decode())
    module, function = entries["console_scripts"]["kvtiers"].split(":")
    script = wheel.parent / "kvtiers"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(wheel)!r})\nfrom {module} import {function}\nsys.exit({function}())\n"
    )
    return script


def run(*arguments: str | Path, folder: Path = PROJECT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_wheel_is_small_and_holds_the_package_with_its_tables_and_nothing_else(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_BYTES
    with zipfile.ZipFile(wheel) as bundle:
        names = {name for name in bundle.namelist() if ".dist-info/" not in name}
    package = PROJECT / "kvtiers"
    kept = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {path.relative_to(PROJECT).as_posix() for path in kept}


def test_pyyaml_is_all_it_depends_on(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as bundle:
        (name,) = [name for name in bundle.namelist() if name.endswith("METADATA")]
        lines = bundle.read(name).decode().splitlines()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    assert [need for need in needs if "extra ==" not in need] == ["pyyaml"]


def test_the_command_runs_from_the_wheel(command: Path, tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(
        "services:\n  vllm:\n    image: vllm/vllm-openai:v0.32.0\n    command: --model m --no-enable-prefix-caching\n"
    )
    linted = run("-I", command, "lint", "compose.yaml", folder=tmp_path)
    assert (linted.returncode, linted.stderr) == (1, "")
    assert "[prefix_caching_off]" in linted.stdout
    for arguments in (["size", CONFIG], PLAN, [*WORTH, "--repeated", "0.5"], ["diagnose", str(LOG)]):
        assert run("-I", command, *arguments, "--json", folder=tmp_path).returncode == 0


def test_usage_names_the_command_as_it_was_started(command: Path) -> None:
    assert run("-I", command, "--help").stdout.startswith("usage: kvtiers [")
    assert "usage: kvtiers size " in run("-I", command, "size").stderr
    assert run("-m", "kvtiers", "--help").stdout.startswith("usage: python -m kvtiers [")


@pytest.mark.parametrize(
    "arguments",
    [["size", CONFIG], PLAN, [*WORTH, "--repeated", "0.5"], ["diagnose", str(LOG)]],
    ids=lambda arguments: arguments[0],
)
def test_all_but_lint_run_with_the_standard_library_alone(arguments: list[str]) -> None:
    done = run("-S", "-m", "kvtiers", *arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_lint_says_in_one_line_what_it_needs() -> None:
    done = run("-S", "-m", "kvtiers", "lint", "compose.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("kvtiers lint: ")
    assert "pip install pyyaml" in done.stderr
