"""Rules about LMCache's settings: names, types, tiers, sizes, hashes, chunks."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from kvtiers.lint.findings import Finding
from kvtiers.lint.given import Value
from kvtiers.lint.setup import Setup, convert, raw_text
from kvtiers.lint.yaml_nodes import Node
from kvtiers.settings import known
from kvtiers.units import GIB

_TRUE_TO_PEOPLE = ("yes", "on", "y", "t", "enable", "enabled", "ja", "si", "sí", "oui")
_FALSE = ("false", "0", "no", "off", "n", "f", "none", "")
_VOLATILE = re.compile(r"/(?:tmp|var/tmp|dev/shm|run|var/run)(?:/|$)")
_DEFAULT_BLOCK_TOKENS = 16  # vLLM on CUDA


def check(setup: Setup) -> Iterator[Finding]:
    """Findings about the settings of one server, or given alone."""
    if not setup.in_process:
        return
    yield from _names(setup)
    yield from _types(setup)
    yield from _precedence(setup)
    yield from _disk(setup)
    yield from _memory(setup)
    yield from _remote(setup)
    yield from _hash(setup)
    yield from _chunks(setup)


def _at(value: Value) -> tuple[str, int]:
    return value.source, value.line


def _names(setup: Setup) -> Iterator[Finding]:
    for name, value in [*setup.in_file.items(), *setup.in_environment.items(), *setup.settings.items()]:
        if name in known.kinds() or name.startswith("ec_") or name == "ec":
            continue
        if name in known.still_read():
            yield Finding("renamed_key", *_at(value), {"name": name, "new": known.renamed()[name]})
        else:
            near = known.renamed().get(name) or known.nearest(name, known.kinds())
            yield Finding("unknown_key", *_at(value), {"name": name, "nearest": near or None})


def _types(setup: Setup) -> Iterator[Finding]:
    for name, value in setup.settings.items():
        kind = known.kinds().get(name)
        if kind is None or not value.literal:
            continue
        try:
            convert(name, value.value)
        except ValueError:
            yield Finding("value_type", *_at(value), {"name": name, "kind": kind})
            continue
        written = raw_text(value).lower()
        plain = value.value.plain() if isinstance(value.value, Node) else value.value
        if kind == "bool" and not isinstance(plain, bool) and written not in ("true", "1"):
            if written in _TRUE_TO_PEOPLE:
                yield Finding("bool_reads_false", *_at(value), {"name": name, "written": written})
            elif written not in _FALSE:
                yield Finding("value_type", *_at(value), {"name": name, "kind": kind})


def _precedence(setup: Setup) -> Iterator[Finding]:
    at = setup.environment.get("LMCACHE_CONFIG_FILE")
    if at is None or not setup.in_environment:
        return
    both = [name for name in setup.in_environment if name in setup.in_file]
    differ = [name for name in both if raw_text(setup.in_environment[name]) != raw_text(setup.in_file[name])]
    values = {"names": ", ".join(sorted(differ or setup.in_environment))}
    yield Finding("file_and_variables_differ" if differ else "file_and_variables", *_at(at), values)


def _disk(setup: Setup) -> Iterator[Finding]:
    limit, disk = setup.settings.get("max_local_disk_size"), setup.settings.get("local_disk")
    if disk is None or not raw_text(disk):
        if limit is not None and (setup.get("max_local_disk_size") or 0) > 0 and setup.server:
            yield Finding("limit_without_disk", *_at(limit))
        return
    if setup.known_value("max_local_disk_size") and not (setup.get("max_local_disk_size") or 0) > 0:
        yield Finding("disk_without_limit", *_at(limit or disk))
    if not disk.literal:
        return
    for part in raw_text(disk).split(","):
        yield from _path(setup, part.strip(), disk)
    drive_gib, size_gib = setup.facts.drive_gib, setup.get("max_local_disk_size")
    if drive_gib is not None and limit is not None and size_gib and size_gib * _workers(setup) > drive_gib:
        values = {"limit_gib": size_gib, "workers": _workers(setup), "drive_gib": drive_gib}
        yield Finding("disk_larger_than_drive", *_at(limit), values)


def _path(setup: Setup, written: str, disk: Value) -> Iterator[Finding]:
    path = written.removeprefix("file://")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        yield Finding("disk_uri", *_at(disk), {"directory": path.split("/", maxsplit=1)[0]})
        return
    if not path.startswith("/"):
        yield Finding("disk_relative", *_at(disk), {"path": path})
        return
    mount, kind = _mount(setup.facts.mounts, path)
    if _VOLATILE.match(path) or kind in ("tmpfs", "ramfs"):
        yield Finding("disk_volatile", *_at(disk), {"path": path})
    elif mount == "/" or (kind == "overlay" and mount):
        yield Finding("disk_on_system_drive", *_at(disk), {"path": path})


def _mount(mounts: str, path: str) -> tuple[str, str]:
    """Mount point and file system that hold ``path``, by /proc/mounts; empty where it does not say."""
    best = ("", "")
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) > 2 and (path + "/").startswith(parts[1].rstrip("/") + "/") and len(parts[1]) >= len(best[0]):
            best = (parts[1], parts[2])
    return best


def _workers(setup: Setup) -> int:
    workers = 1
    for names in (("tensor-parallel-size", "tp"), ("pipeline-parallel-size", "pp")):
        for name in names:
            option = setup.server.options.get(name) if setup.server else None
            if option and str(option.value).isdecimal():
                workers *= max(1, int(option.value))
    return workers


def _memory(setup: Setup) -> Iterator[Finding]:
    size_gib = setup.get("max_local_cpu_size")
    if size_gib is None or not setup.known_value("max_local_cpu_size"):
        return
    has_lower_tier = any(name in setup.settings for name in ("local_disk", "remote_url", "remote_storage_plugins"))
    if size_gib <= 0 and has_lower_tier:
        yield Finding("staging_zero", *_at(setup.settings["max_local_cpu_size"]))
    tokens, kv_bytes = setup.facts.prefix_tokens, setup.facts.kv_bytes_per_token
    if has_lower_tier and tokens and kv_bytes and not setup.get("local_cpu"):
        needed_gib = tokens * kv_bytes / GIB / _workers(setup)
        if 0 < size_gib < needed_gib:
            at = setup.settings.get("max_local_cpu_size") or setup.settings["local_cpu"]
            yield Finding("staging_too_small", *_at(at), {"size_gib": size_gib, "needed_gib": needed_gib})


def _remote(setup: Setup) -> Iterator[Finding]:
    url = setup.settings.get("remote_url")
    if url is not None and url.literal and raw_text(url):
        scheme, separator, rest = raw_text(url).partition("://")
        if not separator or scheme not in known.remote_schemes():
            near = known.nearest(scheme, known.remote_schemes()) or None
            yield Finding("remote_scheme", *_at(url), {"scheme": scheme if separator else None, "nearest": near})
        elif scheme == "fs" and not _has_host_and_port(f"fs://{rest}"):
            yield Finding("remote_fs_url", *_at(url))
        elif scheme in known.remote_plugins():
            yield Finding("remote_url_deprecated", *_at(url), {"plugin": scheme})
    plugins = setup.settings.get("remote_storage_plugins")
    if plugins is not None and plugins.literal:
        for plugin in convert("remote_storage_plugins", plugins.value) or []:
            kind = str(plugin.plain() if isinstance(plugin, Node) else plugin).split(".")[0]
            if kind not in known.remote_plugins():
                near = known.nearest(kind, known.remote_plugins()) or None
                yield Finding("remote_plugin", *_at(plugins), {"plugin": kind, "nearest": near})


def _has_host_and_port(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port is not None
    except ValueError:
        return False


def _hash(setup: Setup) -> Iterator[Finding]:
    if not setup.known_value("pre_caching_hash_algorithm"):
        return
    written = setup.settings.get("pre_caching_hash_algorithm")
    algorithm = setup.get("pre_caching_hash_algorithm")
    anything = next(iter(setup.settings.values()), None) or setup.environment["LMCACHE_CONFIG_FILE"]
    # A file we were not given may well set it.
    file_unseen = "LMCACHE_CONFIG_FILE" in setup.environment and not setup.in_file
    if algorithm == "builtin" and not (written is None and file_unseen):
        yield Finding("hash_builtin", *_at(written or anything))
    elif written is not None and algorithm not in known.hash_names():
        near = known.nearest(str(algorithm), known.hash_names()) or "sha256"
        yield Finding("hash_unknown", *_at(written), {"nearest": near})
    shares = [
        name
        for name in ("remote_url", "remote_storage_plugins", "enable_p2p", "enable_controller", "enable_pd")
        if setup.get(name)
    ]
    seed = setup.environment.get("PYTHONHASHSEED")
    if shares and setup.server and (seed is None or str(seed.value) in ("", "random")):
        yield Finding("hashseed_unset", *_at(seed or setup.settings[shares[0]]), {"setting": shares[0]})


def _chunks(setup: Setup) -> Iterator[Finding]:
    chunk, at = setup.get("chunk_size"), setup.settings.get("chunk_size")
    options = setup.server.options if setup.server else {}
    if not isinstance(chunk, int) or chunk < 1 or not setup.known_value("chunk_size"):
        return
    block = options.get("block-size")
    block_tokens = int(block.value) if block and str(block.value).isdecimal() else _DEFAULT_BLOCK_TOKENS
    where = at or block
    if where is not None and block_tokens and chunk % block_tokens:
        yield Finding("chunk_not_multiple", *_at(where), {"chunk": chunk, "block": block_tokens})
    longest = options.get("max-model-len")
    limit = int(longest.value) if longest and str(longest.value).isdecimal() else None
    tokens = setup.facts.prefix_tokens or limit
    if tokens and chunk > tokens:
        place = at or longest or next(iter(setup.settings.values()))
        yield Finding("chunk_larger_than_prefix", *_at(place), {"chunk": chunk, "tokens": tokens})
