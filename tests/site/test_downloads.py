"""Fetching what the runtime is made of, from an index on this machine that can fail as real ones do."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from course.clients import groups
from course.downloads import Download, load_downloads
from course.errors import CourseError
from course.fetch import TRIES, fetch

PROJECT = Path(__file__).parents[2]
LIST = PROJECT / "site" / "runtime" / "downloads.json"


def wheel(name: str, inside: dict[str, bytes] | None = None) -> bytes:
    """A wheel of `name` 1.0 that pip takes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as bundle:
        for path, content in (inside or {f"{name}.py": b"text = '" + b"x" * 5000 + b"'\n"}).items():
            bundle.writestr(path, content)
        info = f"{name}-1.0.dist-info"
        bundle.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        bundle.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        bundle.writestr(f"{info}/RECORD", "")
    return written.getvalue()


def npm_package(name: str) -> bytes:
    """A package of `name` 1.0.0 that npm takes."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as bundle:
        content = f'{{"name": "{name}", "version": "1.0.0"}}'.encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(content)
        bundle.addfile(entry, io.BytesIO(content))
    return written.getvalue()


class Index:
    """A package index: pip's simple pages, npm's documents, and the files."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        self.refused: set[str] = set()
        self.drops: Counter[str] = Counter()
        """How often a file's connection breaks half way before it comes whole."""

    def add(self, name: str, client: str = "pip", **more: Any) -> Download:
        """A package with one file, and its entry in a list of sources."""
        file = f"{name}-1.0-py3-none-any.whl" if client == "pip" else f"{name}-1.0.0.tgz"
        requirement = f"{name}==1.0" if client == "pip" else f"{name}@1.0.0"
        content = more.pop("content", None) or (wheel(name) if client == "pip" else npm_package(name))
        self.files[file] = content
        return Download(file, hashlib.sha256(content).hexdigest(), client, requirement, "MIT", **more)

    def page(self, path: str) -> tuple[str, bytes] | None:
        """Type and content of what is not a file."""
        name = path.strip("/").removeprefix("simple/")
        if path.startswith("/simple/"):
            links = (f'<a href="/files/{file}">{file}</a>' for file in self.files if file.startswith(f"{name}-"))
            return "text/html", "".join(links).encode()
        if (content := self.files.get(f"{name}-1.0.0.tgz")) is None:
            return None
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        dist = f'{{"tarball": "{self.address}/files/{name}-1.0.0.tgz", "integrity": "{integrity}"}}'
        release = f'{{"name": "{name}", "version": "1.0.0", "dist": {dist}}}'
        document = f'{{"name": "{name}", "dist-tags": {{"latest": "1.0.0"}}, "versions": {{"1.0.0": {release}}}}}'
        return "application/json", document.encode()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = self.path.rpartition("/")[2] if self.path.startswith("/files/") else ""
            found.asked[file or self.path] += 1
            if any(name in self.path for name in found.refused):
                return self.send_error(HTTPStatus.FORBIDDEN)
            kind, content = ("application/zip", found.files[file]) if file else found.page(self.path) or ("", b"")
            if not kind:
                return self.send_error(HTTPStatus.NOT_FOUND)
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            dropped = found.drops[file] > 0
            found.drops[file] -= dropped
            self.wfile.write(content[: len(content) // 2] if dropped else content)
            return None

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Index(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in [name for name in os.environ if name.startswith(("PIP_", "npm_config_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{found.address}/simple/")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("npm_config_registry", found.address)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    yield found
    server.shutdown()
    server.server_close()


def test_files_of_both_clients_come_as_the_list_says(index: Index, tmp_path: Path) -> None:
    sources = [*(index.add(f"name{number}") for number in range(9)), index.add("script", "npm")]
    arrived: list[None] = []
    files = fetch(sources, tmp_path / "downloads", lambda: arrived.append(None))
    assert {name: path.read_bytes() for name, path in files.items()} == index.files
    assert len(arrived) == len(sources)
    assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == sorted(files)


def test_what_is_there_is_not_asked_for_again(index: Index, tmp_path: Path) -> None:
    sources = [index.add("first"), index.add("second", "npm")]
    fetch(sources, tmp_path)
    index.asked.clear()
    assert sorted(fetch(sources, tmp_path)) == sorted(source.file for source in sources)
    assert not index.asked


def test_a_damaged_file_in_the_cache_is_fetched_anew(index: Index, tmp_path: Path) -> None:
    sources = [index.add("whole"), index.add("damaged")]
    fetch(sources, tmp_path)
    (tmp_path / sources[1].file).write_bytes(b"half of i")
    index.asked.clear()
    fetch(sources, tmp_path)
    assert (tmp_path / sources[1].file).read_bytes() == index.files[sources[1].file]
    assert sources[0].file not in index.asked


@pytest.mark.parametrize("client", ["pip", "npm"])
def test_a_dropped_connection_is_tried_again(index: Index, tmp_path: Path, client: str) -> None:
    sources = [index.add("steady", client), index.add("shaky", client)]
    index.drops[sources[1].file] = TRIES - 1
    fetch(sources, tmp_path)
    assert (tmp_path / sources[1].file).read_bytes() == index.files[sources[1].file]


@pytest.mark.parametrize("client", ["pip", "npm"])
def test_a_connection_that_always_drops_is_named_and_the_rest_is_kept(
    index: Index, tmp_path: Path, client: str
) -> None:
    sources = [index.add("steady", client), index.add("shaky", client)]
    index.drops[sources[1].file] = 1000
    with pytest.raises(CourseError, match=rf"could not fetch {sources[1].requirement} with {client}, tried 3 times"):
        fetch(sources, tmp_path)
    index.drops.clear()
    index.asked.clear()
    fetch(sources, tmp_path)
    assert sources[0].file not in index.asked


@pytest.mark.parametrize("client", ["pip", "npm"])
def test_a_package_that_a_proxy_refuses_is_named_in_one_line(index: Index, tmp_path: Path, client: str) -> None:
    sources = [index.add(name, client) for name in ("allowed", "refused", "welcome")]
    index.refused = {"refused"}
    with pytest.raises(CourseError) as failure:
        fetch(sources, tmp_path)
    said = str(failure.value)
    assert said.startswith(f"could not fetch {sources[1].requirement} with {client}")
    assert "proxy" in said
    assert "\n" not in said


@pytest.mark.parametrize("client", ["pip", "npm"])
def test_a_file_that_is_not_the_reviewed_one_stops_the_build(index: Index, tmp_path: Path, client: str) -> None:
    source = index.add("changed", client)
    index.files[source.file] = wheel("other") if client == "pip" else npm_package("other")
    with pytest.raises(CourseError, match=f"could not fetch {source.requirement}.*(?i:hashes|reviewed was)"):
        fetch([source], tmp_path)
    assert not (tmp_path / source.file).exists()


def test_a_package_that_no_longer_has_the_file_is_named(index: Index, tmp_path: Path) -> None:
    source = index.add("moved", "npm")
    gone = Download("moved-one.tgz", source.sha256, "npm", source.requirement, "MIT")
    with pytest.raises(CourseError, match=r"it no longer comes as moved-one\.tgz: review"):
        fetch([gone], tmp_path)


def test_members_are_kept_and_the_file_around_them_is_not(index: Index, tmp_path: Path) -> None:
    inner = wheel("inner")
    digest = hashlib.sha256(inner).hexdigest()
    content = wheel("outer", {"outer/inner-1.0-py3-none-any.whl": inner})
    source = index.add("outer", content=content, members={"outer/inner-1.0-py3-none-any.whl": digest})
    files = fetch([source], tmp_path)
    assert list(files) == ["inner-1.0-py3-none-any.whl"]
    assert [path.name for path in tmp_path.iterdir()] == list(files)
    index.asked.clear()
    assert fetch([source], tmp_path) == files
    assert not index.asked


def test_every_source_says_where_it_comes_from() -> None:
    for source in load_downloads(LIST):
        assert source.client in ("npm", "pip")
        assert source.licence
        assert len(source.sha256) == 64


def test_few_runs_bring_all_and_the_large_file_does_not_wait_for_small_ones() -> None:
    runs = groups(load_downloads(LIST))
    assert len(runs) <= 8
    assert [len(run) for run in runs if any(source.members for source in run)] == [1]
    assert runs[0][0].members


def test_nothing_is_built_from_source() -> None:
    assert [source.file for source in load_downloads(LIST) if not source.file.endswith((".whl", ".tgz"))] == []
