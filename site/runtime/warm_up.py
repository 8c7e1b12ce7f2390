"""Runs once at build time; the browser starts with everything that this leaves in memory.

The builder sets `MODULES`: the names of the modules to import, as the scout found them. The value of the last line
goes back to the builder: the files of all imported modules.
"""

import gc
import importlib
import importlib.util
import os
import pkgutil
import sys

import late_imports
from matplotlib import font_manager

import kvtiers
from kvtiers.tables import read_table, table_names

NOTEBOOKS = "/notebooks"

late_imports.hold_back()
# 06, which is not run below, asks pyodide.http for the lab's result.
for name in (
    "marimo._pyodide.bootstrap",
    "marimo._pyodide.pyodide_session",
    "pyodide.http.pyxhr",
    *globals()["MODULES"],
):
    importlib.import_module(name)
for module in pkgutil.walk_packages(kvtiers.__path__, "kvtiers."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
# What kvtiers reads from files of its own is read now and kept: the files themselves are not in the image.
for name in table_names():
    read_table(name)
# Whatever the notebooks need is best known by running them; 06 asks for the page's address, and there is no page yet.
for file in sorted(os.listdir(NOTEBOOKS)):
    if file.endswith(".py") and not file.startswith("06_"):
        spec = importlib.util.spec_from_file_location("notebook", os.path.join(NOTEBOOKS, file))
        notebook = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(notebook)
        outputs, _ = notebook.app.run()
        [mo_text for output in outputs if (mo_text := getattr(output, "text", None))]
        del notebook, outputs
font_manager._get_font.cache_clear()  # it holds files open, and open files do not survive
gc.collect()

sorted(
    {
        str(m.__spec__.origin)
        for m in list(sys.modules.values())
        if getattr(m, "__spec__", None) and m.__spec__.has_location
    }
)
