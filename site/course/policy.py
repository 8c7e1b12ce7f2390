"""The Content-Security-Policy: pages load and contact nothing but the site itself, and run no script but its own.

A page carries its policy as a <meta>, so that it holds on any static host. What only a header can say (who may frame a
page, what a worker may do) is sent by `site/serve.py`.
"""

import re
from base64 import b64encode
from hashlib import sha256

INLINE_SCRIPT = re.compile(r"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
CHARSET = re.compile(r'<meta charset="utf-8"(?: /)?>')

PAGE = {
    "default-src": "'none'",
    "connect-src": "'self'",
    "frame-src": "'self'",
    "img-src": "'self'",
    # The saved charts style each stroke in place. Styles can't run anything.
    "style-src": "'self' 'unsafe-inline'",
    # A lesson's page starts its notebook's Python.
    "worker-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
NOTEBOOK = PAGE | {
    "frame-src": "'none'",
    # Charts and files that Python makes reach the page as data: and blob: addresses.
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "manifest-src": "'self'",
}
# The editor parses and formats with WebAssembly of its own.
EDITOR = NOTEBOOK | {"script-src": "'wasm-unsafe-eval'"}

# A worker takes its policy from the header it came with, not from the page that started it.
WORKER_HEADER = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
PAGE_HEADER = "frame-ancestors 'self'"


def with_policy(page: str, rules: dict[str, str] = PAGE) -> str:
    """`page` with `rules` as its first <meta> after the charset, inline scripts allowed by their hash."""
    hashes = sorted({_hash(script) for script in INLINE_SCRIPT.findall(page)})
    scripts = " ".join(["'self'", *hashes, *rules.get("script-src", "").split()])
    policy = "; ".join(f"{name} {value}" for name, value in (rules | {"script-src": scripts}).items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page, count = CHARSET.subn(lambda charset: charset[0] + meta, page, count=1)
    if not count:
        raise ValueError('a page needs <meta charset="utf-8"> for its policy to follow')
    return page


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
