"""The built site, served from this machine, in a real Chromium that can reach nothing else."""

import shutil
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import serve
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Frame,
    FrameLocator,
    Page,
    Request,
    Route,
    ViewportSize,
    sync_playwright,
)

PROJECT = Path(__file__).parents[2]
SCREENSHOTS = PROJECT / "site" / ".cache" / "screenshots"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
LIVE_MS = 90_000
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
LANGUAGES = ("en", "zh-TW")
LESSONS = sorted(path.name for path in (PROJECT / "lessons").glob("[0-9][0-9]-*"))
READING = ("quiz", "quiz/result", "glossary", "questions", "claims", "version-pairs")
ALL_PAGES = ["", *(f"{page}/" for page in (*LESSONS, *READING))]


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("no Chromium on PATH: `make test` installs it where it can", pytrace=False)
    return found


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of the site as it was last built."""
    dist = PROJECT / "site" / "dist"
    assert (dist / "index.html").is_file(), "the course is not built: run make site"
    with serving(dist) as address:
        yield address


@contextmanager
def serving(folder: Path, handler: type[serve.Handler] = serve.Handler) -> Iterator[str]:
    """The folder on a free port of this machine."""
    server = serve.make_server(folder, 0, handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page, and what went wrong on it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.address}/{path}")

    def without_notebooks(self) -> None:
        """Let lessons show their saved views only: for tests of the page around the notebook, which then start no
        Python."""
        empty = "<!doctype html><title>no notebook</title>"
        self.page.route("**/notebooks/*/*/", lambda route: route.fulfill(content_type="text/html", body=empty))
        self.page.route("**/static/python.js", lambda route: route.fulfill(content_type="text/javascript", body=""))

    def open_live(self, path: str) -> FrameLocator:
        """Open a lesson and wait until its notebook is live; returns the notebook."""
        self.open(path)
        self.page.locator('[data-state="live"]').wait_for(timeout=LIVE_MS)
        return self.notebook

    @property
    def notebook(self) -> FrameLocator:
        return self.page.frame_locator("#live")

    @property
    def frame(self) -> Frame:
        """The live notebook, once all of it is drawn: its editors come a little later than the rest."""
        frame = next(frame for frame in self.page.frames if "/notebooks/" in frame.url)
        frame.wait_for_function("() => !document.querySelector('marimo-code-editor:not(:defined)')")
        return frame


Live = Callable[[str], Visit]
_visits: list[Visit] = []


@contextmanager
def visiting(browser: Browser, address: str) -> Iterator[Visit]:
    """A fresh browser profile with everything but the site blocked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    visit = Visit(page, address)

    def only_here(route: Route, call: Request) -> None:
        visit.requested.append(call.url)
        if urlsplit(call.url).netloc == urlsplit(visit.address).netloc or not call.url.startswith("http"):
            route.continue_()
        else:
            visit.problems.append(f"outside request: {call.url}")
            route.abort()

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            visit.problems.append(f"console: {message.text}")

    context.route("**/*", only_here)
    page.on("console", note)
    page.on("pageerror", lambda error: visit.problems.append(f"page error: {error}"))
    _visits.append(visit)
    yield visit
    _visits.remove(visit)
    context.close()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as visit:
        yield visit


@pytest.fixture(scope="module")
def live(browser: Browser, address: str) -> Iterator[Live]:
    """Live lessons by their path, each opened once a file: for tests that take a lesson as the one before left it."""
    with ExitStack() as open_pages:

        @cache
        def opened(path: str) -> Visit:
            visit = open_pages.enter_context(visiting(browser, address))
            visit.open_live(path)
            return visit

        yield opened


@pytest.fixture
def sub_path(visit: Visit, tmp_path: Path) -> Iterator[Visit]:
    """The site served below a path, one with characters that a careless text replacement trips over."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "$&").symlink_to(PROJECT / "site" / "dist")
    with serving(tmp_path) as address:
        visit.address = f"{address}/some/$&"
        yield visit


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps a picture of each page that is open when a test fails."""
    report = yield
    if report.failed:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for number, visit in enumerate(_visits):
            with suppress(Error):  # a page may be too busy
                visit.page.screenshot(path=SCREENSHOTS / f"{item.name.replace('/', '-')}-{number}.png")
    return report
