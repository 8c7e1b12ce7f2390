"""Rules about the vLLM command: where it ends, the connector, its role, prefix caching, versions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvtiers.lint.findings import Finding, at, said
from kvtiers.lint.given import Given, Invocation, Unseen, Value
from kvtiers.lint.setup import Setup
from kvtiers.settings import known
from kvtiers.settings.known_pairs import known_pair
from kvtiers.settings.version_pairs import LMCacheMode

_MODES = {"LMCacheConnectorV1": LMCacheMode.IN_PROCESS, "LMCacheMPConnector": LMCacheMode.MP}
_PINNED = ("vllm", "lmcache")
_DISAGGREGATED = ("enable_pd", "enable_p2p", "enable_nixl", "enable_xpyd")
_ROLES = ("kv_both", "kv_producer", "kv_consumer")


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about every command, and about versions without one."""
    for process in [*given.servers, *given.lmcache_servers]:
        yield from _command(process)
    for setup in setups:
        if not setup.alone:
            yield from _server(setup, given)
    pins = given.versions
    values = _fault(LMCacheMode.IN_PROCESS, pins, given.platform)
    if values and len(pins) == len(_PINNED) and not given.servers:
        yield at("version_pair_unseen", pins["lmcache"], certain=False, **values)


def _command(process: Invocation) -> Iterator[Finding]:
    """A command that ends before it was meant to, and variables that do not reach it."""
    for value, cause in process.broken:
        yield at("command_ends_early", value, cause=said(f"lint.ends.{cause}"))
    seed = process.environment.get("PYTHONHASHSEED")
    if seed and str(seed.value)[:1] in ("'", '"'):
        yield at("literal_quotes", seed, name="PYTHONHASHSEED")
    for name, value in process.not_exported.items():
        if name in ("LMCACHE_CONFIG_FILE", "PYTHONHASHSEED") or name.removeprefix("LMCACHE_").lower() in known.kinds():
            yield at("not_exported", value, name=name)


def _server(setup: Setup, given: Given) -> Iterator[Finding]:
    for name, value in setup.environment.items():
        setting = re.sub(r"^LM_?CACHE_*", "", name)
        if setting.lower() in known.kinds() and name not in (setting, f"LMCACHE_{setting}"):
            yield at("unknown_key", value, name=name, nearest=f"LMCACHE_{setting}")
    off, place = setup.option("no-enable-prefix-caching"), setup.connector_at
    if off:
        yield at("prefix_caching_off", off)
    if setup.quoted and place:
        yield at("literal_quotes", place, name="--kv-transfer-config")
    if setup.connector_error and place:
        yield at("kv_transfer_json", place, reason=setup.connector_error)
    if setup.connector is None:
        yield from _no_connector(setup, given)
        return
    size, mp = setup.option("kv-offloading-size"), setup.connector_name == "LMCacheMPConnector"
    if place:
        yield from _connector(setup, place, given)
    elif mp and size:
        yield at("offloading_backend_lmcache", size)
    if mp and setup.settings:
        name, first = min(setup.settings.items(), key=lambda item: item[1].line)
        yield at("mp_ignores_settings", first, name=name, count=len(setup.settings))
    yield from _versions(setup, given)


def _no_connector(setup: Setup, given: Given) -> Iterator[Finding]:
    """What can't be seen is not called missing."""
    server, place, dynamo = setup.server, setup.connector_at, setup.option("connector")
    unseen = server.unseen[:1]
    if place is not None:
        unseen = [] if setup.connector_error else [Unseen("value", "--kv-transfer-config", place.source, place.line)]
    elif not unseen and dynamo:
        unseen = [Unseen("dynamo", str(dynamo.value), server.source, server.line)]
    for one in unseen:
        values = {"kind": said(f"lint.unseen.{one.kind}"), "name": one.name}
        yield Finding("connector_unseen", one.source, one.line, values, certain=False)
    if unseen or place:
        return
    if setup.has_settings:
        yield at("no_connector", server)
    elif not any("kv-transfer-config" in one.options or "kv-offloading-size" in one.options for one in given.servers):
        # Beside a server with a connector, one without is meant: a control, or another service.
        yield at("plain_server", server)


def _connector(setup: Setup, place: Value, given: Given) -> Iterator[Finding]:
    configs = " ".join(str(one.options.get("kv-transfer-config")) for one in given.servers)
    # one server is a producer and another a consumer: prefill is parted from decode
    parted = "kv_producer" in configs and "kv_consumer" in configs
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
            yield at("kv_role_one_way", place, not (setup.unseen or parted), role=role)
    policy = (setup.connector or {}).get("kv_load_failure_policy", "fail")
    whole = setup.connector_error is None and not setup.server.by_chart
    if whole and policy == "fail" and setup.connector_name != "MultiConnector":
        yield at("load_failure_fail", place)


def _versions(setup: Setup, given: Given) -> Iterator[Finding]:
    """Versions known not to work so wired, or that may be, where one of them is not seen."""
    mode = next((_MODES[name] for name in setup.connector_names if name in _MODES), None)
    values = _fault(mode, setup.versions, given.platform) if mode else None
    if values and len(setup.versions) == len(_PINNED):
        yield at("version_pair", setup.versions["lmcache"], **values)
    elif values:
        yield at("version_pair_unseen", setup.connector_at or setup.server, certain=False, **values)


def _fault(mode: LMCacheMode, pins: Mapping[str, Value], platform: str) -> dict[str, Any] | None:
    """What fails with the versions seen, an unseen one being any; None where nothing is known to."""
    seen = {name: pins[name].value if name in pins else "" for name in _PINNED}
    pair = known_pair(mode, seen["vllm"], seen["lmcache"], platform)
    if pair is None or pair.works:
        return None
    said = {"what": pair.what, "said_by": pair.source, "date": pair.date, "mode": mode.value}
    return {name: version or "?" for name, version in seen.items()} | said
