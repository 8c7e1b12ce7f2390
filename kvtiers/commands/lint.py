"""``kvtiers lint FILE…``: what is wrong with a vLLM command, LMCache's settings, or the files that hold them."""

import argparse
import os
import re
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
from kvtiers.lint.given import last_part
from kvtiers.model import kv_spec, read_config
from kvtiers.tables import read_table
from kvtiers.units import positive
from kvtiers.words.refusals import say_refusal

_LARGEST_BYTES = 2_000_000
_ENDINGS = {kind: entry["endings"] for kind, entry in read_table("lint/forms/kinds.toml").items()}
_READ = tuple(ending for kind in ("dockerfile", "systemd", "yaml", "env", "shell") for ending in _ENDINGS[kind])
# Of what is not read a folder's is named where it concerns vLLM. Documents only quote.
_IN_FOLDERS = tuple(ending for kind, endings in _ENDINGS.items() if kind != "Markdown" for ending in endings)
_CONCERNS = re.compile(
    r"\bvllm serve\b|lmcache server|vllm\.entrypoints|dynamo\.vllm|(?:from|import) vllm\b|KVTransferConfig"
)
_FORMS = (
    "it reads shell, .env, docker run, compose, Kubernetes (KServe, LWS, Dynamo), Ray Serve, values of vLLM "
    "production-stack and llm-d, Dockerfile, systemd, Quadlet, vLLM's config.yaml and lmcache.yaml"
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
    """The output, and 2 where a file that was named is not read, 1 when something is to be put right.

    What nobody can tell is said, and is no fault.
    """
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
    sources, skipped, refused = _sources(options.files)
    for why in refused if sources else refused[:-1]:
        say_refusal("lint", KvtiersError(why), options.language)
    if refused and not sources:
        raise KvtiersError(refused[-1])
    checked = report(sources, facts)
    checked.given.skipped += skipped
    return write(checked, options.format, options.language), 2 if refused else 0 if checked.clean else 1


def _sources(names: Sequence[str]) -> tuple[list[Source], list[tuple[str, str]], list[str]]:
    """The texts to read: each file that was named, and of a folder what concerns vLLM or LMCache.

    With them what a folder holds that is not read, and why; and why files that were named are not.
    """
    texts: list[Source] = []
    refused: list[tuple[str, str]] = []
    for name in _files(names):
        try:
            text = Source("stdin" if name == "-" else name, _read(name))
            if name in names or name.lower().endswith(_READ) or _CONCERNS.search(text.text):
                texts.append(text)
        except KvtiersError as error:
            refused.append((name, str(error)))
    refused += [(text.name, why) for text in texts if (why := _refused(text, texts))]
    sources = [text for text in texts if text.name not in dict(refused)]
    named = [*names, "stdin"]
    silent = [one.name for one in sources if one.name in named and _says_nothing(one, sources)]
    if silent or (not refused and read_sources(sources).silent):
        refused += [
            ("stdin", f"no vLLM command, no variable and no LMCache setting in {', '.join(silent or names)}: {_FORMS}")
        ]
        sources = [one for one in sources if silent and one.name not in silent]
    skipped = [(name, why.removeprefix(f"{name}, ")) for name, why in refused if name not in named]
    return sources, skipped, [why for name, why in refused if name in named]


def _refused(text: Source, texts: Sequence[Source]) -> str:
    """Why it can be read neither with those that name it nor by itself; empty where it can."""
    why, named_by = "", [one for one in texts if one is not text and last_part(text.name) in one.text]
    for others in (named_by, [])[not named_by :]:
        try:
            read_sources([*others, text])
            return ""
        except KvtiersError as error:
            why = str(error)
    return why


def _says_nothing(source: Source, sources: Sequence[Source]) -> bool:
    """Neither by itself nor to the others."""
    if not read_sources([source]).silent:
        return False
    whole, without = read_sources(sources), read_sources([one for one in sources if one is not source])
    return replace(whole, read=[]) == replace(without, read=[])


def _files(names: Sequence[str]) -> Iterator[str]:
    """Each name; of a folder its files by what their names promise, hidden folders left out."""
    for name in names:
        if name == "-" or not Path(name).is_dir():
            yield name
            continue
        for place, folders, files in os.walk(name):
            folders[:] = sorted(folder for folder in folders if not folder.startswith(".") and folder != "node_modules")
            yield from (str(Path(place, file)) for file in sorted(files) if file.lower().endswith(_IN_FOLDERS))


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
