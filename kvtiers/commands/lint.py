"""``kvtiers lint FILE…``: what is wrong with a vLLM command, LMCache's settings, or the files that hold them."""

import argparse
import json
import sys
from pathlib import Path
from typing import TypeVar

from kvtiers.commands.arguments import language_argument, stdin_once
from kvtiers.errors import KvtiersError
from kvtiers.lint import Facts, Finding, Source, lint
from kvtiers.lint.given import Given
from kvtiers.lint.sources import read_sources
from kvtiers.model import kv_spec, read_config
from kvtiers.units import positive
from kvtiers.words import labelled, text

_LARGEST_BYTES = 2_000_000
Number = TypeVar("Number", int, float)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="script, command, .env, compose file, lmcache.yaml; - reads a text"
    )
    parser.add_argument("--prefix-tokens", type=int, metavar="N", help="your longest prefix, to judge buffer and chunk")
    parser.add_argument("--config", metavar="CONFIG", help="the model's config.json, to judge the buffer")
    parser.add_argument("--drive-free-gib", type=float, metavar="GIB", help="free space on the drive of local_disk")
    parser.add_argument("--mounts", metavar="FILE", help="the server's /proc/mounts, to see which drive")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The output, and 1 when there are findings."""
    stdin_once([*options.files, options.mounts])
    facts = Facts(
        prefix_tokens=_given("--prefix-tokens", options.prefix_tokens),
        kv_bytes_per_token=kv_spec(read_config(options.config)).bytes_per_token if options.config else None,
        drive_gib=_given("--drive-free-gib", options.drive_free_gib),
        mounts=_read(options.mounts) if options.mounts else "",
    )
    sources = [Source("stdin" if name == "-" else name, _read(name)) for name in options.files]
    silent = [source.name for source in sources if read_sources([source]) == Given()]
    if silent:
        raise KvtiersError(
            f"no vLLM command, no variable and no LMCache setting in {', '.join(silent)}: it reads shell, .env, "
            "compose, Kubernetes and lmcache.yaml"
        )
    findings = lint(sources, facts)
    if options.json:
        output = json.dumps([finding.to_json(options.language) for finding in findings], indent=2, ensure_ascii=False)
    else:
        output = "\n\n".join(show(finding, options.language) for finding in findings) or text(
            "lint.clean", options.language, {}
        )
    return output, 1 if findings else 0


def _given(name: str, value: Number | None) -> Number | None:
    if value is not None:
        positive(name, value)
    return value


def show(finding: Finding, language: str) -> str:
    at = {"source": finding.source, "line": finding.line}
    where = text("lint.at", language, at) if finding.line else finding.source
    severity = text(f"severity.{finding.severity}", language, {})
    head = labelled(where, labelled(severity, f"{finding.what(language)} [{finding.id}]", language), language)
    parts = {"why": finding.why(language), "fix": finding.fix(language), "lesson": finding.lesson}
    rows = [labelled(text(f"lint.{name}", language, {}), part, language) for name, part in parts.items()]
    return "\n  ".join([head, *rows])


def _read(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_LARGEST_BYTES + 1)
        else:
            with Path(name).open("rb") as stream:
                data = stream.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise KvtiersError(f"cannot read {name}: {error.strerror or error}") from None
    if len(data) > _LARGEST_BYTES:
        raise KvtiersError(f"{name} is larger than {_LARGEST_BYTES:,} bytes: settings are not; a log is for diagnose")
    if b"\0" in data or data.startswith(b"\x1f\x8b"):
        raise KvtiersError(f"{name} is not text")
    return data.decode("utf-8-sig", errors="replace")
