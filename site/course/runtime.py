"""Builds the browser's Python: Pyodide, marimo, matplotlib and kvtiers, precompiled and stripped.

Start-up in the browser is bound by the CPU, not by the network. So: modules are compiled ahead, everything pure goes
into the one archive Pyodide reads anyway, and what a lesson never imports stays out.
"""

from __future__ import annotations

import email
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from course.errors import CourseError
from course.sources import fetch, load_sources, unpack_tar

CORE_FILES = ("pyodide.asm.mjs", "pyodide.asm.wasm")
COMPILED = ("msgspec", "numpy", "matplotlib", "contourpy", "kiwisolver", "pillow")
# The names marimo's worker asks Pyodide for. Their code is in the archive; each still needs an entry in the lock.
ASKED_FOR = ("marimo_base", "markdown", "pymdown_extensions", "narwhals", "packaging", "micropip")
EPOCH = (1980, 1, 1, 0, 0, 0)

STDLIB_SKIP = re.compile(r"^(idlelib|turtledemo|lib2to3|ensurepip|tkinter|turtle\.py|pydoc_data|test|wsgiref|xmlrpc)\b")
SKIP = re.compile(
    r"""(^|/)(tests?|__pycache__)/ | \.(pyi|pyx|pxd|h|c|cpp|a|pc|typed)$
    | /sample_data/ | /mpl-data/(images|fonts/(afm|pdfcorefonts))/
    | /fonts/ttf/(?!DejaVuSans(-Bold|-Oblique|Mono)?\.ttf)
    | ^numpy/(f2py|distutils|_pyinstaller|doc|typing)/
    | ^marimo/(_static|_tutorials|_lsp|_snippets/data)/ | ^marimo/_server/ai/skills/
    | ^fontTools/(ufoLib|designspaceLib|feaLib|varLib|otlLib|mtiLib|merge|subset|voltLib|qu2cu|cu2qu|t1Lib|svgLib)/
    | ^jedi/third_party/ | ^docutils/(?!__init__)
    | ^pygments/(lexers/(?!__init__|_mapping|python|special|shell|data|diff)|styles/(?!__init__|_mapping|default))
    | ^dateutil/zoneinfo/.*gz | ^mpl_toolkits/
    | ^matplotlib/(tests|testing)/
    | ^matplotlib/backends/(?!__init__|backend_agg|_backend_agg|backend_svg|backend_mixed|registry)
    | ^PIL/(_avif|_webp|_imagingft|_imagingcms|_imagingtk|_imagingmorph).*\.so$
    | \.data/""",
    re.VERBOSE,
)


def build_runtime(site: Path, package: Path, cache: Path, out: Path) -> None:
    """Write the runtime into `out`. `package` is the kvtiers folder; downloads and work files live in `cache`."""
    files = fetch(load_sources(site / "runtime" / "sources.json"), cache / "downloads")
    core, work = cache / "pyodide", cache / "work"
    for folder in (core, work, out):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    archive = next(path for name, path in files.items() if name.startswith("pyodide-"))
    unpack_tar(archive, core, "package/")

    wheels = _unpack_all(files, work)
    _unzip(core / "python_stdlib.zip", work / "stdlib", STDLIB_SKIP)
    shutil.copytree(package, work / "kvtiers" / "kvtiers", ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
    _precompile(site, core, work)

    for name in CORE_FILES:
        shutil.copy(core / name, out / name)
    _write_packages(json.loads((core / "pyodide-lock.json").read_text())["info"], wheels, work, out)


def _unpack_all(files: dict[str, Path], work: Path) -> dict[str, str]:
    """Unpack every package into its own folder; returns distribution -> wheel file name."""
    wheels: dict[str, str] = {}
    for name, path in files.items():
        if name.endswith(".whl"):
            distribution = name.split("-")[0].lower()
            wheels[distribution] = name
            _unzip(path, work / distribution, SKIP)
        elif name.startswith("pyyaml"):
            # Its C accelerator is optional; the sdist's Python half is all that the browser needs.
            unpack_tar(path, work / "pyyaml" / "yaml", f"{name.removesuffix('.tar.gz')}/lib/yaml/")
    return wheels


def _unzip(path: Path, into: Path, skip: re.Pattern[str]) -> None:
    with zipfile.ZipFile(path) as bundle:
        for info in bundle.infolist():
            if not info.is_dir() and not skip.search(info.filename):
                target = into / info.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(bundle.read(info))


def _precompile(site: Path, core: Path, work: Path) -> None:
    command = ["node", str(site / "runtime" / "precompile.mjs"), str(core), str(work)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CourseError("node is needed to precompile the browser's Python: install it and build again") from error
    if done.returncode:
        raise CourseError(f"precompiling failed:\n{(done.stderr or done.stdout)[-2000:]}")


def _write_packages(info: dict[str, str], wheels: dict[str, str], work: Path, out: Path) -> None:
    merged = [work / "stdlib", work / "kvtiers"]
    packages: dict[str, dict[str, object]] = {}
    for folder in sorted(work.iterdir()):
        name = folder.name
        if name in ("stdlib", "kvtiers"):
            continue
        metadata = next(folder.glob("*.dist-info"), None)
        if metadata is not None:
            _trim(metadata)
        if name in ASKED_FOR and metadata is not None:
            stub = work / f"{name}.stub" / metadata.name
            shutil.move(metadata, stub)
            packages |= _package(name, wheels[name], stub.parent, out)
        if name in COMPILED:
            packages |= _package(name, wheels[name], folder, out)
        else:
            merged.append(folder)
    # Everything asked for at start arrives in one parallel batch.
    first = packages["marimo-base"]
    first["depends"] = sorted(set(packages) - {"marimo-base"})
    _zip(out / "python_stdlib.zip", merged)
    lock = {"info": info, "packages": packages}
    (out / "pyodide-lock.json").write_text(json.dumps(lock, sort_keys=True, separators=(",", ":")))


def _trim(metadata: Path) -> None:
    """Keep what importlib.metadata and Pyodide read: name, version, requirements."""
    for path in sorted(metadata.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        elif path.name not in ("METADATA", "WHEEL"):
            path.unlink()
    text = (metadata / "METADATA").read_text(errors="replace")
    (metadata / "METADATA").write_text(text.split("\n\n", 1)[0] + "\n\n")
    (metadata / "RECORD").write_text("")


def _package(name: str, file: str, folder: Path, out: Path) -> dict[str, dict[str, object]]:
    metadata = email.message_from_string(next(folder.glob("*.dist-info/METADATA")).read_text())
    _zip(out / file, [folder])
    key = name.replace("_", "-")
    imports = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.endswith(".dist-info"))
    return {
        key: {
            "name": metadata["Name"],
            "version": metadata["Version"],
            "file_name": file,
            "sha256": hashlib.sha256((out / file).read_bytes()).hexdigest(),
            "imports": imports,
            "depends": [],
            "install_dir": "site",
            "package_type": "package",
            "unvendored_tests": False,
        }
    }


def _zip(path: Path, folders: list[Path]) -> None:
    """Stored, sorted, dated 1980: same input, same bytes. The transfer is compressed by the server instead."""
    seen: set[str] = set()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        for folder in folders:
            for file in sorted(folder.rglob("*")):
                name = file.relative_to(folder).as_posix()
                if file.is_file() and name not in seen:
                    seen.add(name)
                    entry = zipfile.ZipInfo(name, EPOCH)
                    entry.external_attr = 0o644 << 16
                    bundle.writestr(entry, file.read_bytes())
