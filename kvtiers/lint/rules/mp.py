"""Rules about LMCache's MP mode: its server beside the engines. Source: LMCache 0.5.6, lmcache/v1/multiprocess."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Invocation, Value
from kvtiers.lint.setup import Setup
from kvtiers.settings import known
from kvtiers.settings.since import Name

_RECURRENT = re.compile(
    r"Qwen3[.-](?:Next|5|6)|Nemotron-?H|Jamba|Falcon-?H1|Granite-4|Bamba|Zamba|Mamba|Kimi-Linear", re.I
)
_FAMILIES = ("lazy_offload_", "autostart.")  # keys of parts of LMCache's connector
_ANY = "?"  # a version that is not seen
_LOCAL = ("localhost", "127.0.0.1")
_PORT = 5555  # LMCache's


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about servers and the engines that are to use them."""
    engines = [setup for setup in setups if "LMCacheMPConnector" in setup.connector_names]
    inside = [setup for setup in setups if "LMCacheConnectorV1" in setup.connector_names]
    for setup in [*engines, *inside]:
        yield from _hybrid(setup)
    for setup in engines:
        yield from _keys(setup)
        mode = setup.option("mamba-cache-mode")
        if mode and mode.value == "none":
            yield at("mamba_cache_mode", mode)
    for setup in inside:
        yield from _never_talk(setup, given.lmcache_servers if not engines else [])
    for server in given.lmcache_servers:
        yield from _arguments(server, {**given.versions, **server.versions})
        yield from _l2(server)
    shared: dict[str, list[Setup]] = {}
    users: dict[str, tuple[Invocation, list[Setup]]] = {}
    for setup in engines:
        wanted, servers = str(setup.extra.get("lmcache.mp.port", _PORT)), given.lmcache_servers
        told = [one for one in servers if len(servers) == 1 or str(one.number("port") or _PORT) == wanted]
        for server in told[:1]:
            yield from _pair(setup, server)
            if given.platform != "cpu":
                yield from _ipc(setup, server)
            users.setdefault(server.place, (server, []))[1].append(setup)
            # What lies in one directory is one cache, whichever server reads it.
            for cache in {server.place, *(path for _, path in directories(server))}:
                shared.setdefault(cache, []).append(setup)
    for server, using in users.values():
        yield from _workers(server, [setup.workers for setup in using])
    for cache, using in shared.items():
        yield from _mixed(using)
        models = sorted({_said(setup.option("model")) or _ANY for setup in using})
        if cache not in users and len(models) > 1:
            yield at("mp_l2_shared", using[0].server, certain=False, path=cache, models=", ".join(models))


def _never_talk(setup: Setup, servers: Sequence[Invocation]) -> Iterator[Finding]:
    place, unread = setup.connector_at, [key for key in setup.extra if key.startswith("lmcache.mp.")]
    if place is None:
        return
    for server in servers:
        yield at("mp_server_beside_in_process", place, server=server.place)
    if unread:
        yield at("mp_keys_unread", place, names=", ".join(unread))


def _arguments(server: Invocation, versions: Mapping[str, Value]) -> Iterator[Finding]:
    for name, option in server.options.items():
        # of an older release, which is seen, another rule tells
        older = "lmcache" in versions and Name("lmcache", "server_options", name).until
        if name not in known.server_options() and name != "model" and not older:
            near = known.nearest(name, known.server_options())
            nearest = f"--{near}" if near else "-"
            # another version may have it
            yield at("unknown_server_option", option, bool(near), name=f"--{name}", nearest=nearest)
    for name in ("l1-size-gb", "eviction-policy"):
        if not server.unseen and not {name, "l1-manager"} & set(server.options):
            yield at("mp_required", server, name=f"--{name}")


def adapters(server: Invocation) -> Iterator[tuple[Value, dict[str, Any] | None]]:
    """Where each L2 adapter is written, and what it says; None where that is no JSON object."""
    option = server.options.get("l2-adapter")
    if option is None:
        return
    for text in option.value if isinstance(option.value, list) else [option.value]:
        try:
            value = read_json(text)
        except ValueError:
            value = None
        yield option, value if isinstance(value, dict) else None


def directories(server: Invocation) -> Iterator[tuple[Value, str]]:
    """Where each L2 adapter that has one is written, and its directory."""
    for place, adapter in adapters(server):
        if adapter and "base_path" in adapter:
            yield place, str(adapter["base_path"])


def _l2(server: Invocation) -> Iterator[Finding]:
    for place, adapter in adapters(server):
        if not place.literal:
            continue
        if adapter is None:
            yield at("mp_l2_json", place)
            continue
        kind, path = str(adapter.get("type") or "-"), str(adapter.get("base_path", "-"))
        if kind not in known.l2_adapters():
            near = known.nearest(kind, known.l2_adapters()) or "-"
            yield at("unknown_l2_adapter", place, name=kind, nearest=near)
        if kind == "fs_native" and not (adapter.get("eviction") and adapter.get("max_capacity_gb")):
            yield at("mp_l2_unbounded", place, path=path)
        elif kind == "fs":
            yield at("drive_unbounded", place, certain=False, path=path)


def _pair(setup: Setup, server: Invocation) -> Iterator[Finding]:
    """One engine and its server."""
    place, extra, port = setup.connector_at, setup.extra, server.number("port") or _PORT
    host = str(extra.get("lmcache.mp.host", "tcp://localhost")).removeprefix("tcp://")
    wanted = extra.get("lmcache.mp.port", _PORT)
    local = host in _LOCAL and "$" not in str(wanted) and "lmcache.mp.server_urls" not in extra
    if place and local and _known(server, "port") and str(wanted) != str(port):
        yield at("mp_port", place, wanted=wanted, port=port)


def _workers(server: Invocation, ranks: Sequence[int]) -> Iterator[Finding]:
    """Too few for one engine's ranks, which all have to hit; or for those of several, which may only wait."""
    names = ("max-gpu-workers", "max-workers")
    option = next((server.options[name] for name in names if name in server.options), None)
    workers = server.number("max-gpu-workers") or server.number("max-workers") or 1
    needed = max(ranks) if max(ranks) > workers else sum(ranks)
    if needed > workers and _known(server, *names):
        values = {"workers": workers, "ranks": needed}
        yield Finding("mp_workers", server.source, (option or server).line, values, certain=max(ranks) > workers)


def _keys(setup: Setup) -> Iterator[Finding]:
    """Keys of the connector that no one reads."""
    for key in setup.extra if setup.connector_at else ():
        name = key.removeprefix("lmcache.mp.")
        if setup.connector_at and name != key and not name.startswith(_FAMILIES) and name not in known.mp_keys():
            near = known.nearest(name, known.mp_keys())
            nearest = f"lmcache.mp.{near}" if near else "-"
            yield at(
                "unknown_mp_key", setup.connector_at, bool(near) and setup.knows("lmcache"), name=key, nearest=nearest
            )


def _known(process: Invocation, *names: str) -> bool:
    return not process.unseen and all(process.options[name].literal for name in names if name in process.options)


def _hybrid(setup: Setup) -> Iterator[Finding]:
    """Models with recurrent layers: told by their config, or only guessed by their name."""
    place, model, known_hybrid = setup.connector_at, setup.option("model"), setup.facts.recurrent
    if place is None or known_hybrid is False:
        return
    if known_hybrid or (model and _RECURRENT.search(str(model.value))):
        rule = "hybrid_mp" if "LMCacheMPConnector" in setup.connector_names else "hybrid_in_process"
        yield at(rule, place, bool(known_hybrid), model=str(model.value) if model else "-")


def _ipc(setup: Setup, server: Invocation) -> Iterator[Finding]:
    """CUDA IPC needs one IPC namespace and one /dev/shm, unless both sides are told that there is none."""
    one, other, place = setup.server.container, server.container, setup.connector_at
    told, mode = server.options.get("isolated-ipc"), server.options.get("supported-transfer-mode")
    isolated = bool(setup.extra.get("lmcache.mp.isolated_ipc"))
    if mode and "engine_driven" in str(mode.value):
        return
    if isolated != bool(told):
        if _known(server) and (place is None or place.literal):
            yield at("mp_isolated_one_side", told or place or server, server=server.place)
    elif not isolated and one and other and one.group != other.group and not (one.host_ipc and other.host_ipc):
        yield at("mp_ipc", setup.server, server=server.place)  # of one alone nobody can tell


def _mixed(engines: Sequence[Setup]) -> Iterator[Finding]:
    """MP's keys leave out the KV's type and vLLM's version: engines of one model that differ in them share wrong KV."""
    seen: dict[str, tuple[str, ...]] = {}
    for setup in engines:
        model = _said(setup.option("model"))
        version = str(setup.versions["vllm"].value) if "vllm" in setup.versions else _ANY
        kinds = (*(_said(setup.option(name)) or "auto" for name in ("dtype", "kv-cache-dtype")), version)
        pairs = zip(seen.setdefault(model, kinds), kinds, strict=True)
        if model and any(one != other and _ANY not in (one, other) for one, other in pairs):
            yield at("mp_mixed", setup.server, model=model, one=", ".join(seen[model]), other=", ".join(kinds))


def _said(value: Value | None) -> str:
    return str(value.value) if value and value.literal and value.value is not True else ""
