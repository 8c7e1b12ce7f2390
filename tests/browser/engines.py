"""A page in each of the browser engines, behind the few moves that the tests of all of them share.

Chromium is driven by Playwright; Debian's Firefox by WebDriver BiDi, which it speaks itself; WebKitGTK, which is what
Debian has of Safari's engine, by its WebKitWebDriver.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx
import pytest
from playwright.sync_api import Browser
from websockets.sync.client import ClientConnection, connect

from machine.needs import mini_browser

START_S = 60.0
WIDTH, HEIGHT = 1280, 900
LOOPBACK = "127.0.0.1"
ARROW_RIGHT = "\ue014"  # WebDriver's number for the key

Found = TypeVar("Found")


class Window(Protocol):
    """One page of a browser."""

    def open(self, address: str) -> None:
        """Go there."""

    def evaluate(self, body: str) -> Any:
        """What a function with this JavaScript body returns in the page."""

    def press_right(self) -> None:
        """Press and release the right arrow key, as a hand would."""

    def problems(self) -> list[str]:
        """The errors that the page and its worker wrote to the console since it was opened."""


class ChromiumWindow:
    """Chromium, through Playwright."""

    def __init__(self, browser: Browser) -> None:
        self._page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        self._problems: list[str] = []
        self._page.on("console", lambda message: self._note(message.type, message.text))
        self._page.on("pageerror", lambda error: self._problems.append(str(error)))

    def open(self, address: str) -> None:
        self._problems.clear()
        self._page.goto(address)

    def evaluate(self, body: str) -> Any:
        return self._page.evaluate(f"() => {{{body}}}")

    def press_right(self) -> None:
        self._page.keyboard.press("ArrowRight")

    def problems(self) -> list[str]:
        return self._problems

    def close(self) -> None:
        self._page.close()

    def _note(self, kind: str, text: str) -> None:
        if kind == "error":
            self._problems.append(text)


class FirefoxWindow:
    """Firefox, through WebDriver BiDi: JSON over a WebSocket, answers and events mixed."""

    def __init__(self, connection: ClientConnection) -> None:
        self._socket = connection
        self._sent = 0
        self._problems: list[str] = []
        self._call("session.new", {"capabilities": {}})
        self._call("session.subscribe", {"events": ["log.entryAdded"]})
        self._context = self._call("browsingContext.create", {"type": "tab"})["context"]
        self._call("browsingContext.activate", {"context": self._context})  # or nothing in it has the focus
        self._call(
            "browsingContext.setViewport", {"context": self._context, "viewport": {"width": WIDTH, "height": HEIGHT}}
        )

    def open(self, address: str) -> None:
        self._problems.clear()
        self._call("browsingContext.navigate", {"context": self._context, "url": address, "wait": "complete"})

    def evaluate(self, body: str) -> Any:
        function = f"() => JSON.stringify((() => {{{body}}})() ?? null)"
        target = {"context": self._context}
        answer = self._call(
            "script.callFunction", {"functionDeclaration": function, "target": target, "awaitPromise": False}
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def press_right(self) -> None:
        self._call("input.performActions", {"context": self._context, "actions": [_press_right()]})

    def problems(self) -> list[str]:
        self.evaluate("")  # what was written before has come when this is answered
        return self._problems

    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(START_S))
            if message.get("id") == self._sent:
                assert message["type"] == "success", message
                result: dict[str, Any] = message["result"]
                return result
            entry = message.get("params", {})
            if message.get("method") == "log.entryAdded" and entry["level"] == "error":
                self._problems.append(entry["text"])


class WebKitWindow:
    """WebKitGTK's MiniBrowser, through classic WebDriver: JSON over HTTP."""

    def __init__(self, driver: str, browser: Path, console: Path) -> None:
        self._console = console
        self._opened_at = 0
        self._http = httpx.Client(timeout=START_S)
        arguments = ["--automation", "--enable-write-console-messages-to-stdout=true"]
        options = {"binary": str(browser), "args": arguments}
        session = self._post(
            f"{driver}/session", {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        )
        self._session = f"{driver}/session/{session['sessionId']}"
        self._post(f"{self._session}/window/rect", {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})

    def open(self, address: str) -> None:
        self._opened_at = self._console.stat().st_size
        self._post(f"{self._session}/url", {"url": address})

    def evaluate(self, body: str) -> Any:
        return self._post(f"{self._session}/execute/sync", {"script": body, "args": []})

    def press_right(self) -> None:
        self._post(f"{self._session}/actions", {"actions": [_press_right()]})

    def problems(self) -> list[str]:
        written = self._console.read_bytes()[self._opened_at :].decode(errors="replace")
        return re.findall(r"CONSOLE \S+ ERROR .*", written)

    def close(self) -> None:
        self._http.delete(self._session)
        self._http.close()

    def _post(self, url: str, body: dict[str, Any]) -> Any:
        answer = self._http.post(url, json=body).json()["value"]
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer


def _press_right() -> dict[str, Any]:
    moves = [{"type": kind, "value": ARROW_RIGHT} for kind in ("keyDown", "keyUp")]
    return {"type": "key", "id": "keyboard", "actions": moves}


@contextlib.contextmanager
def firefox() -> Iterator[FirefoxWindow]:
    """A headless Firefox with a profile of its own."""
    program = _program("firefox-esr", "firefox")
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with _running(command) as log:
            (address,) = _wait_for(lambda: re.findall(r"ws://\S+", log.read_text(errors="replace")), log)
            with connect(f"{address}/session", max_size=None) as connection:
                yield FirefoxWindow(connection)


@contextlib.contextmanager
def webkit() -> Iterator[WebKitWindow]:
    """WebKitGTK's MiniBrowser on a screen of its own."""
    driver, browser = _program("WebKitWebDriver"), mini_browser()
    assert browser, "WebKitWebDriver is here and MiniBrowser is not"
    with _screen() as display, socket.create_server((LOOPBACK, 0)) as free:
        port = free.getsockname()[1]
        free.close()
        environment = {"DISPLAY": display, "GDK_BACKEND": "x11", "LIBGL_ALWAYS_SOFTWARE": "1"}
        with _running([driver, f"--host={LOOPBACK}", f"--port={port}"], environment) as log:
            address = f"http://{LOOPBACK}:{port}"
            _wait_for(lambda: _answers(f"{address}/status"), log)
            window = WebKitWindow(address, browser, log)
            yield window
            window.close()


@contextlib.contextmanager
def _screen() -> Iterator[str]:
    """A virtual screen; its name as DISPLAY takes it, which the X server chooses itself."""
    command = [_program("Xvfb"), "-displayfd", "1", "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"]
    with _running(command) as log:
        (number,) = _wait_for(lambda: re.findall(r"^(\d+)$", log.read_text(errors="replace"), re.MULTILINE), log)
        yield f":{number}"


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str] | None = None) -> Iterator[Path]:
    """The program, ended with the block; yields the file with all that it prints. Its home is its own."""
    with tempfile.TemporaryDirectory() as home:
        log = Path(home) / "log"
        with (
            log.open("wb") as stream,
            subprocess.Popen(
                command,
                env=os.environ | {"HOME": home, "XDG_RUNTIME_DIR": home} | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            try:
                yield log
            finally:
                process.terminate()


def _wait_for(ready: Callable[[], Found], log: Path) -> Found:
    deadline = time.monotonic() + START_S
    while not (found := ready()):
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.05)
    return found


def _answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _program(*names: str) -> str:
    for name in names:
        if found := shutil.which(name):
            return found
    pytest.fail(f"no {' or '.join(names)} on PATH: `make test` names the packages", pytrace=False)
