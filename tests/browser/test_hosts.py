"""The course from other hosts than `site/serve.py`: one that compresses nothing, and one that compresses everything."""

import gzip
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.browser.conftest import PROJECT, Visit

DIST = PROJECT / "site" / "dist"
FIRST_VISIT_BYTES = 24_000_000
SITE_BYTES = 110_000_000


class Plain(SimpleHTTPRequestHandler):
    """`python -m http.server`, without its lines."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Zealous(Plain):
    """Compresses on the fly whatever it sends, packed or not."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes(), 1)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.copyfile(io.BytesIO(body), self.wfile)
        return None


@contextmanager
def hosted(handler: type[Plain]) -> Iterator[str]:
    """The built site on a free port of this machine, as `handler` sends it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(DIST)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_first_visit_costs_little_more_where_nothing_is_compressed(visit: Visit) -> None:
    sizes: dict[str, int] = {}
    visit.page.context.on(
        "response", lambda answer: sizes.update({answer.url: int(answer.headers.get("content-length", 0))})
    )
    with hosted(Plain) as visit.address:
        visit.open_live("en/02-kv-size/")
    assert any("/memory-1.bin" in url for url in sizes)
    assert sum(sizes.values()) <= FIRST_VISIT_BYTES, sizes
    assert visit.problems == []


def test_a_host_may_compress_what_is_packed_already(visit: Visit) -> None:
    with hosted(Zealous) as visit.address:
        visit.open_live("zh-TW/02-kv-size/")
    assert visit.problems == []


def test_the_site_holds_nothing_twice() -> None:
    sizes = {path.relative_to(DIST): path.stat().st_size for path in DIST.rglob("*") if path.is_file()}
    assert sum(sizes.values()) <= SITE_BYTES, sum(sizes.values())
    assert [str(path) for path in sizes if ".bin." in path.name] == []
