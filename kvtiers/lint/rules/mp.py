"""Rules about LMCache's MP mode: its server beside the engines. Source: LMCache 0.5.6, lmcache/v1/multiprocess."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kvtiers.json_text import read_json
from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Process, Value
from kvtiers.lint.setup import Setup
from kvtiers.settings import known

_RECURRENT = re.compile(
    r"Qwen3[.-](?:Next|5|6)|Nemotron-?H|Jamba|Falcon-?H1|Granite-4|Bamba|Zamba|Mamba|Kimi-Linear", re.I
)
_ANY = "?"  # a version that is not seen
_LOCAL = ("localhost", "127.0.0.1")


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about servers and the engines that are to use them."""
    engines = [setup for setup in setups if "LMCacheMPConnector" in setup.connector_names]
    inside = [setup for setup in setups if "LMCacheConnectorV1" in setup.connector_names]
    for setup in [*engines, *inside]:
        yield from _hybrid(setup)
    for setup in engines:
        yield from _cache_mode(setup)
    for setup in inside:
        yield from _never_talk(setup, given.lmcache_servers if not engines else [])
    for server in given.lmcache_servers:
        yield from _arguments(server)
        yield from _l2(server)
    shared: dict[str, list[Setup]] = {}
    for setup in engines:
        for server in _used(setup, given.lmcache_servers):
            yield from _pair(setup, server, given.platform)
            # What lies in one directory is one cache, whichever server reads it.
            paths = [
                str(one["base_path"]) for _, one in adapters(server) if isinstance(one, dict) and "base_path" in one
            ]
            for place in {f"{server.source}:{server.line}", *paths}:
                shared.setdefault(place, []).append(setup)
    for using in shared.values():
        yield from _mixed(using)


def _used(setup: Setup, servers: Sequence[Process]) -> list[Process]:
    """The server that an engine is told of: the only one, or the one on its port."""
    wanted = str(setup.extra.get("lmcache.mp.port", 5555))
    return [one for one in servers if len(servers) == 1 or str(one.number("port") or 5555) == wanted][:1]


def _never_talk(setup: Setup, servers: Sequence[Process]) -> Iterator[Finding]:
    place = setup.connector_at
    for server in servers:
        if place:
            yield at("mp_server_beside_in_process", place, server=f"{server.source}:{server.line}")
    unread = [key for key in setup.extra if key.startswith("lmcache.mp.")]
    if unread and place:
        yield at("mp_keys_unread", place, names=", ".join(unread))


def _arguments(server: Process) -> Iterator[Finding]:
    for name, option in server.options.items():
        if name not in known.server_options() and name != "model":
            near = known.nearest(name, known.server_options())
            # another version may have it
            yield at(
                "unknown_server_option", option, bool(near), name=f"--{name}", nearest=f"--{near}" if near else "-"
            )
    if server.unseen:
        return
    for name in ("l1-size-gb", "eviction-policy"):
        if name not in server.options and "l1-manager" not in server.options:
            yield Finding("mp_required", server.source, server.line, {"name": f"--{name}"})


def adapters(server: Process) -> Iterator[tuple[Value, Any]]:
    """Where each L2 adapter is written, and what it says; its text where that is no JSON object."""
    option = server.options.get("l2-adapter")
    for written in option.value if option and isinstance(option.value, list) else [option.value] if option else []:
        assert option is not None
        try:
            value = read_json(written)
        except ValueError:
            value = written
        yield option, value


def _l2(server: Process) -> Iterator[Finding]:
    for place, adapter in adapters(server):
        if not place.literal:
            continue
        if not isinstance(adapter, dict):
            yield at("mp_l2_json", place)
            continue
        kind = str(adapter.get("type") or "-")
        if kind not in known.l2_adapters():
            near = known.nearest(kind, known.l2_adapters()) or "-"
            yield at("unknown_l2_adapter", place, name=kind, nearest=near)
        evicts = bool(adapter.get("eviction")) and bool(adapter.get("max_capacity_gb"))
        if kind == "fs_native" and not evicts:
            yield at("mp_l2_unbounded", place, path=str(adapter.get("base_path", "-")))
        elif kind == "fs":
            yield at("drive_unbounded", place, certain=False, path=str(adapter.get("base_path", "-")))


def _pair(setup: Setup, server: Process, platform: str) -> Iterator[Finding]:
    """One engine and its server."""
    place, engine = setup.connector_at, setup.server
    assert engine is not None
    port, extra = server.number("port"), setup.extra
    host = str(extra.get("lmcache.mp.host", "tcp://localhost")).removeprefix("tcp://")
    wanted = extra.get("lmcache.mp.port", 5555)
    local = (
        host in _LOCAL and "$" not in str(wanted) and "lmcache.mp.server_urls" not in extra and _known(server, "port")
    )
    if place and local and str(wanted) != str(port or 5555):
        yield at("mp_port", place, wanted=wanted, port=port or 5555)
    workers = server.number("max-gpu-workers") or server.number("max-workers") or 1
    if setup.workers > workers and _known(server, "max-workers", "max-gpu-workers"):
        where = server.options.get("max-gpu-workers") or server.options.get("max-workers")
        line = where.line if where else server.line
        yield Finding("mp_workers", server.source, line, {"workers": workers, "ranks": setup.workers})
    if platform != "cpu":
        yield from _ipc(engine, server, bool(extra.get("lmcache.mp.isolated_ipc")))


def _known(process: Process, *names: str) -> bool:
    return not process.unseen and all(process.options[name].literal for name in names if name in process.options)


def _hybrid(setup: Setup) -> Iterator[Finding]:
    """Models with recurrent layers: told by their config, or only guessed by their name."""
    place, engine = setup.connector_at, setup.server
    model = engine.options.get("model") if engine else None
    known_hybrid = setup.facts.recurrent
    if place is None or known_hybrid is False:
        return
    if known_hybrid or (model and _RECURRENT.search(str(model.value))):
        rule = "hybrid_mp" if "LMCacheMPConnector" in setup.connector_names else "hybrid_in_process"
        yield at(rule, place, bool(known_hybrid), model=str(model.value) if model else "-")


def _cache_mode(setup: Setup) -> Iterator[Finding]:
    mode = setup.server.options.get("mamba-cache-mode") if setup.server else None
    if mode and mode.value == "none":
        yield at("mamba_cache_mode", mode)


def _ipc(engine: Process, server: Process, engine_isolated: bool) -> Iterator[Finding]:
    """CUDA IPC needs one IPC namespace and one /dev/shm, unless both sides are told that there is none."""
    one, other = engine.container, server.container
    together = one is other or (one and other and (one.group == other.group or (one.host_ipc and other.host_ipc)))
    host_side = (one is None and other and other.host_ipc) or (other is None and one and one.host_ipc)
    isolated = engine_isolated and "isolated-ipc" in server.options
    engine_driven = "engine_driven" in str(server.options.get("supported-transfer-mode", Value("", "", 0)).value)
    if not (together or host_side or isolated or engine_driven) and (one is None) == (other is None):
        yield Finding("mp_ipc", engine.source, engine.line, {"server": f"{server.source}:{server.line}"})


def _mixed(engines: Sequence[Setup]) -> Iterator[Finding]:
    """MP's keys leave out the KV's type and vLLM's version: engines of one model that differ in them share wrong KV."""
    seen: dict[str, tuple[str, str, str]] = {}
    for setup in engines:
        engine = setup.server
        assert engine is not None
        model = _said(engine.options.get("model"))
        kinds = (
            _said(engine.options.get("dtype")) or "auto",
            _said(engine.options.get("kv-cache-dtype")) or "auto",
            str(setup.versions["vllm"].value) if "vllm" in setup.versions else _ANY,
        )
        pairs = zip(seen.setdefault(model, kinds), kinds, strict=True)
        if model and any(one != other and _ANY not in (one, other) for one, other in pairs):
            values = {"model": model, "one": ", ".join(seen[model]), "other": ", ".join(kinds)}
            yield Finding("mp_mixed", engine.source, engine.line, values)


def _said(value: Value | None) -> str:
    return str(value.value) if value and value.literal and value.value is not True else ""
