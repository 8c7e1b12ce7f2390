"""The Content-Security-Policy, without a browser."""

import base64
import hashlib
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import serve
from course.policy import EDITOR, NOTEBOOK, with_policy

PAGE = '<html><head><meta charset="utf-8"><script src="a.js"></script><script>let a = 1;</script></head></html>'


def script_sources(page: str) -> list[str]:
    policy = page.partition('<meta http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    return rules["script-src"].split()


def test_only_the_sites_scripts_and_the_inline_ones_of_the_build_may_run() -> None:
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;").digest()).decode()
    assert script_sources(with_policy(PAGE)) == ["'self'", f"'sha256-{digest}'"]
    assert script_sources(with_policy(PAGE, NOTEBOOK)) == ["'self'", f"'sha256-{digest}'"]
    assert script_sources(with_policy(PAGE, EDITOR)) == ["'self'", f"'sha256-{digest}'", "'wasm-unsafe-eval'"]


def test_the_policy_comes_before_every_script() -> None:
    page = with_policy(PAGE)
    assert page.index("Content-Security-Policy") < page.index("<script")


def test_a_page_without_a_charset_is_refused() -> None:
    with pytest.raises(ValueError, match="charset"):
        with_policy("<html><head></head></html>")


def test_the_server_sends_workers_their_policy(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>home")
    (tmp_path / "worker.js").write_text("1")
    server = serve.make_server(tmp_path, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    headers = {}
    for name in ("index.html", "worker.js"):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/{name}") as response:
            headers[name] = response.headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/no/such/page")
    server.shutdown()
    assert "connect-src 'self'" in headers["worker.js"]
    assert "'unsafe-eval'" not in headers["worker.js"]
    assert headers["index.html"] == "frame-ancestors 'self'"
    assert missing.value.code == 404
    assert missing.value.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
