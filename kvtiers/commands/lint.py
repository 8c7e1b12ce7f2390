"""``kvtiers lint FILE…``: what is wrong with a vLLM command, LMCache's settings, or the files that hold them."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kvtiers.commands.arguments import language_argument, stdin_once
from kvtiers.errors import KvtiersError
from kvtiers.lint import Facts, Source, report
from kvtiers.lint.findings import RULES
from kvtiers.lint.formats import Format, explain, write
from kvtiers.lint.forms.sources import read_sources
from kvtiers.model import kv_spec, read_config
from kvtiers.units import positive

_LARGEST_BYTES = 2_000_000
_IN_FOLDERS = (".yaml", ".yml", ".json", ".sh", ".bash", ".env", ".service", "dockerfile", "containerfile")
_FORMS = (
    "it reads shell, .env, docker run, compose, Kubernetes (KServe, LWS, Dynamo), vLLM production-stack's values, "
    "Dockerfile, systemd, vLLM's config.yaml and lmcache.yaml"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help=f"one deployment: files, or its folder; {_FORMS}; - reads a text"
    )
    parser.add_argument("--prefix-tokens", type=int, metavar="N", help="your longest prefix, to judge buffer and chunk")
    parser.add_argument(
        "--config", metavar="CONFIG", help="the model's config.json, to judge the buffer and the connector"
    )
    parser.add_argument("--drive-free-gib", type=float, metavar="GIB", help="free space on the drive of local_disk")
    parser.add_argument(
        "--memory-gib", type=float, metavar="GIB", help="the machine's RAM, for what runs in no container"
    )
    parser.add_argument("--mounts", metavar="FILE", help="the server's /proc/mounts, to see which drive")
    parser.add_argument("--format", type=Format, choices=list(Format), default=Format.TEXT, help="of the findings")
    parser.add_argument("--json", action="store_const", dest="format", const=Format.JSON, help="--format json")
    parser.add_argument("--explain", metavar="RULE", choices=sorted(RULES), help="what a rule looks for, and why")
    language_argument(parser)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """The output, and 1 when something is to be put right: what nobody can tell is said, and is no fault."""
    if options.explain:
        return explain(options.explain, options.language), 0
    if not options.files:
        raise KvtiersError("give the files of a deployment, its folder, or - for standard input")
    stdin_once([*options.files, options.mounts])
    spec = kv_spec(read_config(options.config)) if options.config else None
    for name in ("prefix_tokens", "drive_free_gib", "memory_gib"):
        if (value := getattr(options, name)) is not None:
            positive(f"--{name.replace('_', '-')}", value)
    facts = Facts(
        prefix_tokens=options.prefix_tokens,
        kv_bytes_per_token=spec.bytes_per_token if spec else None,
        drive_gib=options.drive_free_gib,
        memory_gib=options.memory_gib,
        recurrent=spec.has_states if spec else None,
        mounts=_read(options.mounts) if options.mounts else "",
    )
    sources, skipped = _sources(options.files)
    checked = report(sources, facts)
    checked.given.skipped += skipped
    return write(checked, options.format, options.language), 0 if checked.clean else 1


def _sources(names: Sequence[str]) -> tuple[list[Source], list[tuple[str, str]]]:
    """The texts to read: each file that was named, and of a folder what concerns vLLM or LMCache; of that also what
    can't be read, with the reason."""
    sources: list[Source] = []
    skipped: list[tuple[str, str]] = []
    for name in names:
        if name == "-" or not Path(name).is_dir():
            sources.append(Source("stdin" if name == "-" else name, _read(name)))
            continue
        for path in map(str, _below(Path(name))):
            try:
                source = Source(path, _read(path))
                read_sources([source])
            except KvtiersError as error:
                skipped.append((path, str(error).removeprefix(f"{path}, ")))
            else:
                sources.append(source)
    silent = [source.name for source in sources if source.name in (*names, "stdin") and _says_nothing(source, sources)]
    if silent or read_sources(sources).silent:
        raise KvtiersError(
            f"no vLLM command, no variable and no LMCache setting in {', '.join(silent or names)}: {_FORMS}"
        )
    return sources, skipped


def _says_nothing(source: Source, sources: Sequence[Source]) -> bool:
    """Neither by itself nor to the others."""
    if not read_sources([source]).silent:
        return False
    whole, without = read_sources(sources), read_sources([one for one in sources if one is not source])
    return replace(whole, read=[]) == replace(without, read=[])


def _below(folder: Path) -> Iterator[Path]:
    """Files by what their names promise, hidden folders left out."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for name in sorted(files):
            if name.lower().endswith(_IN_FOLDERS):
                yield Path(place, name)


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
