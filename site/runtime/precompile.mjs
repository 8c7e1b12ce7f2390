// Compiles every .py below FOLDER to .pyc with Pyodide's own CPython, so that the browser never parses source.
// usage: node precompile.mjs PYODIDE_FOLDER FOLDER
// Prints now and then how many are done.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodideFolder, folder] = process.argv.slice(2).map((p) => path.resolve(p));
const { loadPyodide } = await import(pathToFileURL(path.join(pyodideFolder, "pyodide.mjs")));
const py = await loadPyodide({ indexURL: pyodideFolder + "/", env: { PYTHONHASHSEED: "0", PYTHONNODEBUGRANGES: "1" } });
py.FS.mkdirTree("/files");
py.FS.mount(py.FS.filesystems.NODEFS, { root: folder }, "/files");
py.globals.set("ROOT", "/files");
const failures = py.runPython(`
import ast
import importlib._bootstrap_external as external
import importlib.util
import os

# Docstrings become empty; these would rather have none, as under \`python -OO\`, than empty ones.
WITHOUT_DOCSTRINGS = ("numpy/", "pyparsing/", "dateutil/")
# numpy.ma asserts that these say what it replaces in them.
KEEP_DOCSTRINGS = ("numpy/_core/numeric.py",)
# Only add docstrings to what is written in C.
EMPTY = ("numpy/_core/_add_newdocs.py", "numpy/_core/_add_newdocs_scalars.py")
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def blank_docstrings(tree, remove):
    for node in ast.walk(tree):
        if isinstance(node, SCOPES) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                if remove:
                    node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), first)]
                else:
                    first.value.value = ""


# The libraries' tracebacks name file and function; which line of it takes half a megabyte to say, and only pyparsing
# asks. So every line is the function's first. The table's format: 8 code units an entry, no columns, 0 lines on.
def without_lines(code):
    whole, units = divmod(len(code.co_code) // 2, 8)
    table = b"\\xef\\x00" * whole + (bytes([0xE8 | (units - 1), 0]) if units else b"")
    constants = tuple(without_lines(c) if isinstance(c, type(code)) else c for c in code.co_consts)
    return code.replace(co_linetable=table, co_consts=constants)


failures = []
done = 0
for folder, folders, files in os.walk(ROOT):
    folders.sort()
    for file in sorted(files):
        if not file.endswith(".py"):
            continue
        path = os.path.join(folder, file)
        name = path.removeprefix(ROOT + "/").split("/", 1)[1]
        source = b"" if name in EMPTY else open(path, "rb").read()
        try:
            tree = ast.parse(source, "<runtime>/" + name)
            if name not in KEEP_DOCSTRINGS:
                blank_docstrings(tree, name.startswith(WITHOUT_DOCSTRINGS))
            code = compile(tree, "<runtime>/" + name, "exec", dont_inherit=True)
            if not name.startswith("pyparsing/"):
                code = without_lines(code)
        except SyntaxError as error:
            failures.append(f"{name}: {error}")
            continue
        with open(path + "c", "wb") as out:
            out.write(external._code_to_hash_pyc(code, importlib.util.source_hash(source), False))
        os.remove(path)
        done += 1
        if done % 50 == 0:
            print(done)
"\\n".join(failures)
`);
if (failures) {
  console.error(failures);
  process.exit(1);
}
