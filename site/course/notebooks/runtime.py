"""Builds the browser's Python: Pyodide, marimo, matplotlib and kvtiers, precompiled and stripped.

Start-up in the browser is bound by the CPU, not by the network. So: modules are compiled ahead, everything pure goes
into the one archive Pyodide reads anyway, and what a lesson never imports stays out.
"""

import json
import re
import shutil
import tarfile
import zipfile
from base64 import b64decode
from pathlib import Path
from typing import Any

from fontTools.subset import Options, Subsetter  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from rich.progress import Progress

from course.downloads import load_downloads, unpack_tar
from course.errors import CourseError
from course.fetch import fetch
from course.node import run_node
from course.steps import step

COMPILED = ("msgspec", "numpy", "matplotlib", "contourpy", "kiwisolver", "pillow")
ZIP, SITE_PACKAGES = "/lib/python314.zip/", "/lib/python3.14/site-packages/"
CHART_FONT = "DejaVuSans.ttf"
# Latin, Greek, punctuation, arrows, mathematics, shapes. Charts only measure text with it; the page's fonts draw.
CHART_LETTERS = [*range(0x20, 0x250), *range(0x370, 0x400), *range(0x2000, 0x2300), *range(0x25A0, 0x2600)]
EPOCH = (1980, 1, 1, 0, 0, 0)
CORE = "pyodide.asm.wasm"
EMPTY_MODULE = b"\0asm\x01\0\0\0"
"""Pyodide fetches its core under one name; the page's own code brings it in another file, packed."""

STDLIB_SKIP = re.compile(r"^(idlelib|turtledemo|lib2to3|ensurepip|tkinter|turtle\.py|pydoc_data|test|wsgiref|xmlrpc)\b")
# Its C accelerator is optional, and compiled for another machine: the Python half is all that the browser needs.
NOT_YAML = re.compile(r"^(?!yaml/[^/]+\.py$)")
SKIP = re.compile(
    r"""(^|/)(tests?|__pycache__)/ | \.(pyi|pyx|pxd|h|c|cpp|a|pc|typed)$
    | /sample_data/ | /mpl-data/(images|fonts/(afm|pdfcorefonts))/
    | /fonts/ttf/(?!DejaVuSans(-Bold|-Oblique|Mono)?\.ttf)
    | ^numpy/(f2py|distutils|_pyinstaller|doc|typing)/
    | ^marimo/(_static|_tutorials|_lsp|_snippets/data)/ | ^marimo/_server/ai/skills/
    | ^fontTools/(ufoLib|designspaceLib|feaLib|varLib|otlLib|mtiLib|merge|subset|voltLib|qu2cu|cu2qu|t1Lib|svgLib)/
    | ^pyodide_http/_requests | ^jedi/third_party/ | ^docutils/(?!__init__)
    | ^pygments/(lexers/(?!__init__|_mapping|python|special|shell|data|diff)|styles/(?!__init__|_mapping|default))
    | ^dateutil/zoneinfo/.*gz | ^mpl_toolkits/
    | ^matplotlib/(tests|testing)/
    | ^matplotlib/backends/(?!__init__|backend_agg|_backend_agg|backend_svg|backend_mixed|registry)
    | ^PIL/(_avif|_webp|_imagingft|_imagingcms|_imagingtk|_imagingmorph).*\.so$
    | \.data/""",
    re.VERBOSE,
)


def build_runtime(site: Path, package: Path, notebooks: Path, cache: Path, out: Path, *, progress: Progress) -> None:
    """Write the runtime into `out`. `package` is the kvtiers folder; `notebooks` are run once to warm the image.
    Downloads and work files live in `cache`.

    What the browser gets: Pyodide's core and a memory image of a Python that has imported what every lesson needs
    (`core.bin`, `memory-N.bin`), the compiled libraries and data files it goes with (`start.bin`), and everything else
    in `rest.bin`, which is only fetched when a notebook imports something that is not in the image. A browser that the
    image does not fit gets `plain.bin` instead: all of Python's files. Each `.bin` is packed: many a host compresses
    none.
    """
    files = fetch(load_downloads(site / "runtime" / "downloads.json"), cache / "downloads")
    core, work = cache / "pyodide", cache / "work"
    for folder in (core, work, out):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    pure, compiled = work / "pure", work / "compiled"
    with step(progress, "unpack"):
        archive = next(path for name, path in files.items() if name.startswith("pyodide-"))
        unpack_tar(archive, core, "package/")
        shutil.copy(core / "pyodide.asm.mjs", core / "pyodide.core.mjs")
        shutil.copy(site / "runtime" / "boot.mjs", core)
        _unpack_all(files, pure, compiled)
        _subset(next(compiled.rglob(CHART_FONT)))
        _unzip(core / "python_stdlib.zip", pure, STDLIB_SKIP)
        shutil.copytree(package, pure / "kvtiers", ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
        shutil.copy(site / "runtime" / "late_imports.py", pure)
    with step(progress, "precompile", sum(1 for _ in work.rglob("*.py"))) as bar:
        run_node(site / "runtime" / "precompile.mjs", core, work, on_line=lambda line: bar.reach(int(line)))
    with step(progress, "memory image"):
        _write_zip(work / "all.zip", sorted(pure.rglob("*")), pure)
        image = work / "image"
        image.mkdir()
        take_image(site, cache, notebooks, image)
    unpacker = next(path for name, path in files.items() if name.startswith("zstddec-"))
    (out / "zstd.wasm").write_bytes(_decoder(unpacker))
    with step(progress, "pack"):
        _write_files(site / "runtime" / "pack.mjs", core, work, out)


def take_image(site: Path, cache: Path, notebooks: Path, out: Path) -> None:
    """Start Python from what `build_runtime` left in `cache`, run `notebooks`, write its memory to `out`."""
    work, scripts = cache / "work", site / "runtime"
    run_node(scripts / "snapshot.mjs", cache / "pyodide", work / "all.zip", work / "compiled", scripts, notebooks, out)


def _unpack_all(files: dict[str, Path], pure: Path, compiled: Path) -> None:
    """Unpack what is only Python into `pure`; what has compiled parts, and all metadata, into `compiled`."""
    for name, path in files.items():
        distribution = name.split("-")[0].lower()
        if distribution == "pyyaml":
            _unzip(path, pure, NOT_YAML)
        elif name.endswith(".whl"):
            _unzip(path, compiled if distribution in COMPILED else pure, SKIP)
    for metadata in [*pure.glob("*.dist-info"), *compiled.glob("*.dist-info")]:
        _trim(metadata)
        metadata.rename(compiled / metadata.name)


def _subset(font: Path) -> None:
    subsetter = Subsetter(Options(drop_tables=["FFTM", "DSIG"]))
    subsetter.populate(unicodes=CHART_LETTERS)
    letters = TTFont(font, recalcTimestamp=False)
    subsetter.subset(letters)
    letters.save(font)


def _unzip(path: Path, into: Path, skip: re.Pattern[str]) -> None:
    with zipfile.ZipFile(path) as bundle:
        for info in bundle.infolist():
            if not info.is_dir() and not skip.search(info.filename):
                target = into / info.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(bundle.read(info))


def _trim(metadata: Path) -> None:
    """Keep what is read at run time: name, version, requirements, entry points (Markdown's extensions)."""
    for path in sorted(metadata.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        elif path.name not in ("METADATA", "WHEEL", "entry_points.txt"):
            path.unlink()
    text = (metadata / "METADATA").read_text(encoding="utf-8", errors="replace")
    (metadata / "METADATA").write_text(text.split("\n\n", 1)[0] + "\n\n", encoding="utf-8")
    (metadata / "RECORD").write_text("", encoding="utf-8")


def _write_files(pack: Path, core: Path, work: Path, out: Path) -> None:
    """Write what the browser fetches into `out`, the large files packed."""
    image = work / "image"
    snapshot = json.loads((image / "snapshot.json").read_text(encoding="utf-8"))
    first, *parts = [image / name for name in snapshot["parts"]]
    bundles = _write_bundles(work, snapshot, {CORE: core / CORE, first.name: first})
    run_node(pack, out, *bundles, *parts)
    (out / CORE).write_bytes(EMPTY_MODULE)
    shutil.copy(core / "pyodide.core.mjs", out)
    described = {name: snapshot[name] for name in ("size", "libraries", "mark")}
    described["parts"] = [part.name for part in parts]
    boot = (core / "boot.mjs").read_text(encoding="utf-8").replace("IMAGE = {}", f"IMAGE = {json.dumps(described)}")
    (out / "pyodide.asm.mjs").write_text(boot, encoding="utf-8")
    _write_zip(out / "python_stdlib.zip", [], work)
    info = json.loads((core / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    (out / "pyodide-lock.json").write_text(json.dumps({"info": info, "packages": {}}), encoding="utf-8")


def _write_bundles(work: Path, snapshot: dict[str, Any], core: dict[str, Path]) -> list[Path]:
    """Write what `boot` reads, not yet packed: `core`, and each file outside the image, for the start or for later."""
    pure, compiled, out = work / "pure", work / "compiled", work / "bundles"
    out.mkdir()
    in_image, linked = set(snapshot["imported"]), set(snapshot["libraries"])
    start: list[Path] = []
    rest: list[Path] = []
    for path in sorted(p for p in compiled.rglob("*") if p.is_file()):
        name = SITE_PACKAGES + path.relative_to(compiled).as_posix()
        if name in linked or path.suffix not in (".pyc", ".so", ".ttf") or path.name == CHART_FONT:
            start.append(path)
        elif name not in in_image:
            rest.append(path)
    late_pure = [
        p for p in sorted(pure.rglob("*")) if p.is_file() and ZIP + p.relative_to(pure).as_posix() not in in_image
    ]
    late = [_module(p.relative_to(pure)) for p in late_pure if p.suffix == ".pyc"]
    late += [_module(p.relative_to(compiled)) for p in rest if p.suffix in (".pyc", ".so")]
    _write_zip(work / "late.zip", late_pure, pure)
    late_zip, all_zip = {"late.zip": work / "late.zip"}, {"all.zip": work / "all.zip"}
    everything = sorted(path for path in compiled.rglob("*") if path.is_file())

    def named(paths: list[Path]) -> dict[str, Path]:
        return {path.relative_to(compiled).as_posix(): path for path in paths}

    return [
        _write_bundle(out / "core.bin", {}, core),
        _write_bundle(out / "start.bin", {"late": sorted(late)}, named(start)),
        _write_bundle(out / "rest.bin", {}, late_zip | named(rest)),
        _write_bundle(out / "plain.bin", {}, all_zip | named(everything)),
    ]


def _decoder(package: Path) -> bytes:
    """The WebAssembly in the npm package zstddec, which fetches it from a data: address: the policy allows none.

    Raises:
        CourseError: the package has changed.
    """
    with tarfile.open(package) as bundle:
        script = bundle.extractfile("package/dist/zstddec.mjs")
        found = re.findall(rb'"(AGFzbQE[\w+/]+=*)"', script.read()) if script else []
    if len(found) != 1:
        raise CourseError(f"{package.name} has {len(found)} WebAssembly modules in its script, not one")
    return b64decode(found[0])


def _module(path: Path) -> str:
    parts = [*path.parts[:-1], path.name.split(".")[0]]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _write_bundle(path: Path, index: dict[str, object], files: dict[str, Path]) -> Path:
    """The format that boot.mjs reads: length of the index, the index, the files."""
    index = index | {"files": [[name, file.stat().st_size] for name, file in files.items()]}
    head = json.dumps(index, separators=(",", ":")).encode()
    path.write_bytes(b"".join([len(head).to_bytes(4, "little"), head, *(file.read_bytes() for file in files.values())]))
    return path


def _write_zip(path: Path, files: list[Path], root: Path) -> None:
    """Stored, dated 1980: same input, same bytes. What it goes into is packed as a whole."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        for file in files:
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(root).as_posix(), EPOCH)
                entry.external_attr = 0o644 << 16
                bundle.writestr(entry, file.read_bytes())
