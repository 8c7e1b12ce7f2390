"""Rules about the vLLM command: where it ends, the connector, its role, prefix caching, versions."""

from collections.abc import Iterator
from typing import Any

from kvtiers.lint.findings import Finding, at, said
from kvtiers.lint.given import Given, Process, Unseen
from kvtiers.lint.setup import Setup
from kvtiers.settings import known
from kvtiers.settings.version_pairs import LMCacheMode, known_pair

_MODES = {"LMCacheConnectorV1": LMCacheMode.IN_PROCESS, "LMCacheMPConnector": LMCacheMode.MP}
_PINNED = ("vllm", "lmcache")
_DISAGGREGATED = ("enable_pd", "enable_p2p", "enable_nixl", "enable_xpyd")
_ROLES = ("kv_both", "kv_producer", "kv_consumer")


def check(setup: Setup, given: Given) -> Iterator[Finding]:
    """Findings about one server's command."""
    server = setup.server
    if server is None:
        return
    yield from check_command(server)
    off = server.options.get("no-enable-prefix-caching")
    if off:
        yield at("prefix_caching_off", off)
    place = setup.connector_at
    if setup.quoted and place:
        yield at("literal_quotes", place, name="--kv-transfer-config")
    if setup.connector_error and place:
        yield at("kv_transfer_json", place, reason=setup.connector_error)
    if setup.connector is None:
        yield from _no_connector(setup, server, given)
    elif setup.connector.get("shortcut"):
        yield from _shortcut(setup, server)
        yield from _versions(setup, given)
    else:
        yield from _connector(setup, given)
        yield from _versions(setup, given)


def check_command(process: Process) -> Iterator[Finding]:
    """A command that ends before it was meant to, and variables that do not reach it."""
    for value, cause in process.broken:
        yield at("command_ends_early", value, cause=said(f"lint.ends.{cause}"))
    seed = process.environment.get("PYTHONHASHSEED")
    if seed and str(seed.value)[:1] in ("'", '"'):
        yield at("literal_quotes", seed, name="PYTHONHASHSEED")
    for name, value in process.not_exported.items():
        if name in ("LMCACHE_CONFIG_FILE", "PYTHONHASHSEED") or name.removeprefix("LMCACHE_").lower() in known.kinds():
            yield at("not_exported", value, name=name)


def _no_connector(setup: Setup, server: Process, given: Given) -> Iterator[Finding]:
    """What can't be seen is not called missing."""
    if setup.connector_at is not None:
        if not setup.connector_error:
            yield _unseen(Unseen("value", "--kv-transfer-config", setup.connector_at.source, setup.connector_at.line))
    elif server.unseen:
        yield _unseen(server.unseen[0])
    elif "connector" in server.options:
        yield _unseen(Unseen("dynamo", str(server.options["connector"].value), server.source, server.line))
    elif setup.has_settings:
        yield Finding("no_connector", server.source, server.line)
    elif not any("kv-transfer-config" in one.options or "kv-offloading-size" in one.options for one in given.servers):
        # Beside a server with a connector, one without is meant: a control, or another service.
        yield Finding("plain_server", server.source, server.line)


def _unseen(unseen: Unseen) -> Finding:
    values = {"kind": said(f"lint.unseen.{unseen.kind}"), "name": unseen.name}
    return Finding("connector_unseen", unseen.source, unseen.line, values, certain=False)


def _shortcut(setup: Setup, server: Process) -> Iterator[Finding]:
    size = server.options.get("kv-offloading-size")
    if setup.connector_name == "LMCacheMPConnector" and size:
        yield at("offloading_backend_lmcache", size)
        yield from _ignored_settings(setup)


def _connector(setup: Setup, given: Given) -> Iterator[Finding]:
    place = setup.connector_at
    assert place is not None
    for config in setup.connectors:
        name, role = str(config.get("kv_connector") or ""), config.get("kv_role")
        if name == "LMCacheConnector":
            yield at("legacy_connector", place, setup.knows("vllm"))
        elif name not in known.connectors() and not config.get("kv_connector_module_path"):
            near = known.nearest(name, known.connectors())
            sure = setup.knows("vllm") and bool(near or "vllm" in setup.versions or not name)
            yield at("unknown_connector", place, sure, name=name or "-", nearest=near or "-")
        if "$" in str(role) or (role is None and not place.literal):
            continue
        if role not in _ROLES:
            yield at("kv_role", place, role=str(role))
        elif role != "kv_both" and "LMCache" in name and not any(map(setup.get, _DISAGGREGATED)):
            yield at("kv_role_one_way", place, not (setup.unseen or _both_ways(given)), role=role)
    config, server = setup.connector or {}, setup.server
    whole = setup.connector_error is None and not (server and server.by_chart)
    if whole and config.get("kv_load_failure_policy", "fail") == "fail" and setup.connector_name != "MultiConnector":
        yield at("load_failure_fail", place)
    if setup.connector_name == "LMCacheMPConnector":
        yield from _ignored_settings(setup)


def _both_ways(given: Given) -> bool:
    """Is one server a producer and another a consumer: prefill parted from decode?"""
    said = " ".join(
        str(one.options["kv-transfer-config"].value) for one in given.servers if "kv-transfer-config" in one.options
    )
    return "kv_producer" in said and "kv_consumer" in said


def _ignored_settings(setup: Setup) -> Iterator[Finding]:
    for name, value in sorted(setup.settings.items(), key=lambda item: item[1].line)[:1]:
        yield at("mp_ignores_settings", value, name=name, count=len(setup.settings))


def _versions(setup: Setup, given: Given) -> Iterator[Finding]:
    """Versions known not to work so wired, or that may be, where one of them is not seen."""
    mode = next((_MODES[name] for name in setup.connector_names if name in _MODES), None)
    pins, server = setup.versions, setup.server
    values = _fault(mode, pins, given.platform) if mode else None
    place = setup.connector_at
    if values and server and len(pins) == len(_PINNED):
        yield at("version_pair", pins["lmcache"], **values)
    elif values and server:
        where = (place.source, place.line) if place else (server.source, server.line)
        yield Finding("version_pair_unseen", *where, values, certain=False)


def check_versions(given: Given) -> Iterator[Finding]:
    """Both versions without a server: what they may not be used for."""
    pins = given.versions
    fault = len(pins) == len(_PINNED) and not given.servers
    values = _fault(LMCacheMode.IN_PROCESS, pins, given.platform) if fault else None
    if values:
        yield at("version_pair_unseen", pins["lmcache"], certain=False, **values)


def _fault(mode: LMCacheMode, pins: Any, platform: str) -> dict[str, Any] | None:
    """What fails with the versions seen, an unseen one being any; None where nothing is known to."""
    seen = {name: pins[name].value if name in pins else "" for name in _PINNED}
    pair = known_pair(mode, seen["vllm"], seen["lmcache"], platform)
    if pair is None or pair.works:
        return None
    said = {"what": pair.what, "said_by": pair.source, "date": pair.date, "mode": mode.value}
    return {name: version or "?" for name, version in seen.items()} | said
