"""The house stays small enough for one person: how long, how full, and that imports run one way."""

import ast
import subprocess
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
LINES_A_FILE, LINES_A_FUNCTION, FILES_A_FOLDER = 300, 40, 15
LINES_A_TEST_FILE = 400
# Longer still: they may not grow, and nothing may join them.
LONGER = {
    "notebooks/06_prove_it.py": 391,
    "lab/cli.py run": 50,
    "lab/local_run.py run_local": 42,
    "lab/url_run.py run_url": 43,
}
LISTED = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=PROJECT, text=True).splitlines()
FILES = [path for path in map(Path, LISTED) if (PROJECT / path).is_file()]
SOURCES = [path for path in FILES if path.suffix == ".py" and path.parts[0] != "tests"]
TESTS = [path for path in FILES if path.suffix == ".py" and path.parts[0] == "tests"]
TREES = {path: ast.parse((PROJECT / path).read_text(encoding="utf-8")) for path in SOURCES}


def lines(path: Path) -> int:
    return len((PROJECT / path).read_text(encoding="utf-8").splitlines())


def module(path: Path) -> str:
    """The name by which others import it; the builder's start below site/."""
    parts = path.with_suffix("").parts[path.parts[0] == "site" :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module) -> set[str]:
    """What a module imports as it is loaded: not inside functions, and not for types alone."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def too_long(lengths: dict[str, int], most: int) -> dict[str, int]:
    return {name: length for name, length in lengths.items() if length > LONGER.get(name, most)}


def test_no_file_is_too_long() -> None:
    assert too_long({str(path): lines(path) for path in SOURCES}, LINES_A_FILE) == {}
    assert too_long({str(path): lines(path) for path in TESTS}, LINES_A_TEST_FILE) == {}


def test_no_function_is_too_long() -> None:
    functions: dict[str, int] = {}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
                name, length = f"{path} {node.name}", node.end_lineno - node.lineno + 1
                functions[name] = max(length, functions.get(name, 0))  # a notebook's cells have one name
    assert too_long(functions, LINES_A_FUNCTION) == {}


def test_no_folder_is_too_full() -> None:
    counts = Counter(str(path.parent) for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > FILES_A_FOLDER} == {}


def test_nothing_imports_in_a_circle() -> None:
    names = {module(path): path for path in SOURCES}
    # A package's own __init__ gathers what its modules hold: an import of one of them says nothing of the package.
    needs = {
        name: {other for other in imports(TREES[path]) if other in names and other != name}
        for name, path in names.items()
    }
    packages = {name for name, path in names.items() if path.name == "__init__.py"}
    graph = {name: {other for other in others if other not in packages} for name, others in needs.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
