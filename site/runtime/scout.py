"""Opens a notebook as a page does, in a Python that is thrown away: what marimo then imports belongs in the image.

The value of its last line goes back to the builder: the names of all imported modules, in order.
"""

import asyncio
import os
import sys

from marimo._config.config import DEFAULT_CONFIG
from marimo._pyodide.bootstrap import create_session, instantiate

NOTEBOOKS = "/notebooks"


async def open_first_notebook() -> None:
    """Create a session, start it, and wait until all cells have run."""
    ran = asyncio.Event()

    def hear(message: str) -> None:
        if message.startswith('{"op": "completed-run"'):
            ran.set()

    path = os.path.join(NOTEBOOKS, min(os.listdir(NOTEBOOKS)))
    session, _ = create_session(
        filename=path,
        query_params={},
        message_callback=hear,
        user_config=DEFAULT_CONFIG,
    )
    with open(path) as notebook:
        session.find_packages(notebook.read())
    instantiate(session, True)
    running = asyncio.create_task(session.start())
    await ran.wait()
    running.cancel()


await open_first_notebook()  # noqa: F704, PLE1142
[name for name, module in sys.modules.items() if getattr(module, "__spec__", None) and name != "__main__"]
