"""Rules about LMCache's settings: names, types, tiers, sizes, hashes, chunks."""

import re
from collections.abc import Iterator, Sequence

from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Value, holder
from kvtiers.lint.setup import Setup
from kvtiers.lint.values import convert, raw_text
from kvtiers.settings import known
from kvtiers.units import GIB

_TRUE_TO_PEOPLE = ("yes", "on", "y", "t", "enable", "enabled", "ja", "si", "sí", "oui")
_FALSE = ("false", "0", "no", "off", "n", "f", "none", "")
_VOLATILE = re.compile(r"/(?:tmp|var/tmp|dev/shm|run|var/run)(?:/|$)")
_LOWER_TIERS = ("local_disk", "remote_url", "remote_storage_plugins")
_SHARING = ("remote_url", "remote_storage_plugins", "enable_p2p", "enable_controller", "enable_pd")
_DEFAULT_BLOCK_TOKENS = 16  # vLLM on CUDA


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about the settings of each server, or given alone."""
    for setup in setups:
        if setup.in_process:
            for rule in (_names, _types, _precedence, _disk, _memory, _remote, _hash, _chunks):
                yield from rule(setup)


def _names(setup: Setup) -> Iterator[Finding]:
    for name, value in [*setup.in_file.items(), *setup.in_environment.items(), *setup.settings.items()]:
        if name in known.kinds() or name.startswith("ec_") or name == "ec":
            continue
        if name in known.still_read():
            yield at("renamed_key", value, name=name, new=known.renamed()[name])
        else:
            near = known.renamed().get(name) or known.nearest(name, known.kinds())
            yield at("unknown_key", value, setup.knows("lmcache"), name=name, nearest=near or None)


def _types(setup: Setup) -> Iterator[Finding]:
    for name, value in setup.settings.items():
        kind = known.kinds().get(name)
        if kind is None or not value.literal:
            continue
        written = raw_text(value).lower()
        odd = kind == "bool" and not isinstance(value.value, bool) and written not in ("true", "1", *_FALSE)
        try:
            convert(name, value.value)
        except ValueError:
            odd = True
        if kind == "bool" and odd and written in _TRUE_TO_PEOPLE:
            yield at("bool_reads_false", value, name=name, written=written)
        elif odd:
            yield at("value_type", value, name=name, kind=kind)


def _precedence(setup: Setup) -> Iterator[Finding]:
    place, variables, file = setup.environment.get("LMCACHE_CONFIG_FILE"), setup.in_environment, setup.in_file
    if place is None or not variables:
        return
    differ = [name for name, value in variables.items() if name in file and raw_text(value) != raw_text(file[name])]
    names = ", ".join(sorted(differ or variables))
    yield at("file_and_variables_differ" if differ else "file_and_variables", place, names=names)


def _disk(setup: Setup) -> Iterator[Finding]:
    limit, disk = setup.settings.get("max_local_disk_size"), setup.settings.get("local_disk")
    size_gib = setup.get("max_local_disk_size") or 0
    if disk is None or not raw_text(disk):
        if limit is not None and size_gib > 0 and not setup.alone and not setup.unseen:
            yield at("limit_without_disk", limit)
        return
    if setup.known_value("max_local_disk_size") and not size_gib > 0:
        yield at("disk_without_limit", limit or disk)
    if not disk.literal:
        return
    for part in raw_text(disk).split(","):
        yield from _path(setup, part.strip(), disk)
    drive_gib, container = setup.facts.drive_gib, setup.server.container
    if drive_gib is None and container and container.volumes:
        volume = holder(raw_text(disk).removeprefix("file://"), container.volumes)
        drive_gib = container.volumes.get(volume or "")
    if drive_gib is not None and limit is not None and size_gib * setup.workers > drive_gib:
        yield at("disk_larger_than_drive", limit, limit_gib=size_gib, workers=setup.workers, drive_gib=drive_gib)


def _path(setup: Setup, written: str, disk: Value) -> Iterator[Finding]:
    path = written.removeprefix("file://")
    mounted = [line.split() for line in setup.facts.mounts.splitlines()]
    kinds = {parts[1]: parts[2] for parts in mounted if len(parts) > 2}
    mount = holder(path, kinds)
    kind = kinds.get(mount or "")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path):
        yield at("disk_uri", disk, directory=path.split("/", maxsplit=1)[0])
    elif not path.startswith("/"):
        yield at("disk_relative", disk, path=path)
    elif _VOLATILE.match(path) or kind in ("tmpfs", "ramfs"):
        yield at("disk_volatile", disk, path=path)
    elif mount == "/" or (kind == "overlay" and mount):
        yield at("disk_on_system_drive", disk, path=path)


def _memory(setup: Setup) -> Iterator[Finding]:
    size_gib, place = setup.get("max_local_cpu_size"), setup.settings.get("max_local_cpu_size")
    has_lower_tier = any(name in setup.settings for name in _LOWER_TIERS)
    if size_gib is None or not setup.known_value("max_local_cpu_size") or not has_lower_tier:
        return
    if size_gib <= 0 and place:
        yield at("staging_zero", place, size_gib=size_gib)
    tokens, kv_bytes = setup.facts.prefix_tokens, setup.facts.kv_bytes_per_token
    if tokens and kv_bytes and not setup.get("local_cpu"):
        needed_gib = tokens * kv_bytes / GIB / setup.workers
        if 0 < size_gib < needed_gib:
            place = place or setup.settings["local_cpu"]
            yield at("staging_too_small", place, size_gib=size_gib, needed_gib=needed_gib)


def _remote(setup: Setup) -> Iterator[Finding]:
    url, plugins = setup.settings.get("remote_url"), setup.settings.get("remote_storage_plugins")
    if url is not None and url.literal and raw_text(url):
        scheme, separator, rest = raw_text(url).partition("://")
        if not separator or scheme not in known.remote_schemes():
            near = known.nearest(scheme, known.remote_schemes()) or None
            yield at("remote_scheme", url, scheme=scheme if separator else None, nearest=near)
        elif scheme == "fs" and not re.match(r"(?:[^/@]*@)?[^/:@]+:\d+(?:[/?#]|$)", rest):
            yield at("remote_fs_url", url)
        elif scheme in known.remote_plugins():
            yield at("remote_url_deprecated", url, plugin=scheme)
    if plugins is None or not plugins.literal:
        return
    for plugin in convert("remote_storage_plugins", plugins.value) or ():
        kind = str(plugin).split(".", maxsplit=1)[0]
        if kind not in known.remote_plugins():
            yield at("remote_plugin", plugins, plugin=kind, nearest=known.nearest(kind, known.remote_plugins()) or None)


def _hash(setup: Setup) -> Iterator[Finding]:
    written, algorithm = setup.settings.get("pre_caching_hash_algorithm"), setup.get("pre_caching_hash_algorithm")
    seed = setup.environment.get("PYTHONHASHSEED")
    unset = seed is None or seed.text in ("", "random")
    sure = not setup.alone and not setup.unseen
    place = written or next(iter(setup.settings.values()), None)
    if algorithm == "builtin" and unset and place and setup.known_value("pre_caching_hash_algorithm"):
        yield at("hash_builtin", place, sure)
    elif written is not None and written.literal and algorithm not in known.hash_names():
        yield at("hash_unknown", written, nearest=known.nearest(str(algorithm), known.hash_names()) or "sha256")
    shares = next((name for name in _SHARING if setup.get(name)), "")
    if shares and unset and not setup.alone:
        yield at("hashseed_unset", seed or setup.settings[shares], sure, setting=shares)


def _chunks(setup: Setup) -> Iterator[Finding]:
    chunk, written = setup.get("chunk_size"), setup.settings.get("chunk_size")
    if not isinstance(chunk, int) or chunk < 1 or not setup.known_value("chunk_size"):
        return
    block_tokens = setup.server.number("block-size") or _DEFAULT_BLOCK_TOKENS
    where = written or setup.option("block-size")
    if where is not None and chunk % block_tokens:
        yield at("chunk_not_multiple", where, chunk=chunk, block=block_tokens)
    tokens = setup.facts.prefix_tokens or setup.server.number("max-model-len")
    place = written or setup.option("max-model-len") or next(iter(setup.settings.values()), None)
    if tokens and chunk > tokens and place:
        yield at("chunk_larger_than_prefix", place, chunk=chunk, tokens=tokens)
