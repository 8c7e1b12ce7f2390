"""Serves a folder on this machine: `python site/serve.py [FOLDER] [--port 8000]`.

Sends the .br or .gz file beside a file when the browser takes it, and lets the browser keep what never changes.
"""

import argparse
import contextlib
import mimetypes
import sys
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

from course.policy import PAGE_HEADER, WORKER_HEADER

ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".whl": "application/zip"}
TEXT = {".html", ".css", ".js", ".mjs", ".md", ".py", ".txt", ".yaml"}


class Handler(SimpleHTTPRequestHandler):
    """Static files with precompressed variants and conditional requests."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> IO[bytes] | None:  # type: ignore[override]
        """Send status and headers; returns the open file to copy to the browser, or None."""
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            if not self.path.partition("?")[0].endswith("/"):
                return super().send_head()  # redirects to the address with a slash
            path /= "index.html"
        if not path.is_file():
            return self._not_found()
        sent, encoding = self._variant(path)
        stat = sent.stat()
        etag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        unchanged = self.headers.get("If-None-Match") == etag
        self.send_response(HTTPStatus.NOT_MODIFIED if unchanged else HTTPStatus.OK)
        self.send_header("ETag", etag)
        self.send_header("Vary", "Accept-Encoding")
        forever = "/assets/" in self.path or "/python-" in self.path
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if forever else "no-cache")
        if unchanged:
            self.end_headers()
            return None
        kind = _content_type(path)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", PAGE_HEADER if kind.startswith("text/html") else WORKER_HEADER)
        self.send_header("Content-Length", str(stat.st_size))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        return sent.open("rb")

    def _variant(self, path: Path) -> tuple[Path, str]:
        accepted = self.headers.get("Accept-Encoding", "")
        for name, suffix in ENCODINGS:
            packed = path.with_name(path.name + suffix)
            if name in accepted and packed.is_file():
                return packed, name
        return path, ""

    def _not_found(self) -> IO[bytes] | None:
        page = Path(self.directory) / "404.html"
        body = page.read_bytes() if page.is_file() else b"not found"
        self.send_response(HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", PAGE_HEADER)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return None

    def handle(self) -> None:
        """Answer until the connection ends; a browser that has gone away is no error."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal shows the address, not each request."""


def _content_type(path: Path) -> str:
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if path.suffix in TEXT else kind


def make_server(folder: Path, port: int, handler: type[Handler] = Handler) -> ThreadingHTTPServer:
    """A server for `folder` on 127.0.0.1, on `port` or, when that is taken, on any free one."""

    def handle(*args: Any) -> Handler:
        return handler(*args, directory=str(folder))

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handle)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), handle)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the built course on this machine.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent / "dist")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if not (options.folder / "index.html").is_file():
        sys.exit(f"no site in {options.folder}: build it with `make course`")
    server = make_server(options.folder, options.port)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
