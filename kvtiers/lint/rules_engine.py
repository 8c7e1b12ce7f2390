"""Rules about the vLLM command: the connector, its role, prefix caching, versions."""

from collections.abc import Iterator
from typing import Any

from kvtiers.lint.findings import Finding
from kvtiers.lint.given import Given, ServeCommand
from kvtiers.lint.setup import Setup
from kvtiers.settings import known
from kvtiers.settings.version_pairs import LMCacheMode, known_pair

_MODES = {"LMCacheConnectorV1": LMCacheMode.IN_PROCESS, "LMCacheMPConnector": LMCacheMode.MP}
_PINNED = ("vllm", "lmcache")
_ROLES = ("kv_both", "kv_producer", "kv_consumer")


def check(setup: Setup, given: Given) -> Iterator[Finding]:
    """Findings about one server's command."""
    server = setup.server
    if server is None:
        return
    off = server.options.get("no-enable-prefix-caching")
    if off:
        yield Finding("prefix_caching_off", off.source, off.line)
    if setup.connector_error is not None:
        at = setup.connector_at
        if setup.connector_error and at:
            yield Finding("kv_transfer_json", at.source, at.line, {"reason": setup.connector_error})
        return
    if setup.connector is None:
        yield from _no_connector(setup, server, given)
        return
    if setup.connector.get("shortcut"):
        yield from _shortcut(setup, server)
        return
    yield from _connector(setup)
    yield from _versions(setup, given)


def _no_connector(setup: Setup, server: ServeCommand, given: Given) -> Iterator[Finding]:
    if setup.has_settings:
        yield Finding("no_connector", server.source, server.line)
    elif not any(
        "kv-transfer-config" in other.options or "kv-offloading-size" in other.options for other in given.servers
    ):
        # Beside a server with a connector, one without is meant: a control, or another service.
        yield Finding("plain_server", server.source, server.line)


def _shortcut(setup: Setup, server: ServeCommand) -> Iterator[Finding]:
    size = server.options["kv-offloading-size"]
    if setup.connector_name == "LMCacheMPConnector":
        yield Finding("offloading_backend_lmcache", size.source, size.line)
        yield from _ignored_settings(setup)


def _connector(setup: Setup) -> Iterator[Finding]:
    config, at, name = setup.connector or {}, setup.connector_at, setup.connector_name
    assert at is not None
    where = (at.source, at.line)
    if name == "LMCacheConnector":
        yield Finding("legacy_connector", *where)
    elif name not in known.connectors() and not config.get("kv_connector_module_path"):
        yield Finding("unknown_connector", *where, {"name": name, "nearest": known.nearest(name, known.connectors())})
    role = config.get("kv_role")
    if role not in _ROLES:
        yield Finding("kv_role", *where, {"role": str(role)})
    elif role != "kv_both" and "LMCache" in name and not (setup.get("enable_pd") or setup.get("enable_p2p")):
        yield Finding("kv_role_one_way", *where, {"role": role})
    if config.get("kv_load_failure_policy", "fail") == "fail" and name != "MultiConnector":
        yield Finding("load_failure_fail", *where)
    extra = config.get("kv_connector_extra_config")
    if not isinstance(extra, dict):
        extra = {}
    if extra.get("spec_name") == "TieringOffloadingSpec" and not extra.get("cpu_bytes_to_use"):
        yield Finding("tiering_cpu_bytes", *where)
    if name == "LMCacheMPConnector":
        yield from _ignored_settings(setup)


def _ignored_settings(setup: Setup) -> Iterator[Finding]:
    for name, value in sorted(setup.settings.items(), key=lambda item: item[1].line)[:1]:
        yield Finding("mp_ignores_settings", value.source, value.line, {"name": name, "count": len(setup.settings)})


def _versions(setup: Setup, given: Given) -> Iterator[Finding]:
    """Versions known not to work so wired, or that may be, where one of them is not seen."""
    mode, at = _MODES.get(setup.connector_name), setup.connector_at
    pins = given.versions
    values = _fault(mode, given) if mode else None
    if values and at and len(pins) == len(_PINNED):
        yield Finding("version_pair", pins["lmcache"].source, pins["lmcache"].line, values)
    elif values and at:
        yield Finding("version_pair_unseen", at.source, at.line, values)


def check_versions(given: Given) -> Iterator[Finding]:
    """Both versions without a server: what they may not be used for."""
    pins = given.versions
    values = _fault(LMCacheMode.IN_PROCESS, given) if len(pins) == len(_PINNED) and not given.servers else None
    if values:
        yield Finding("version_pair_unseen", pins["lmcache"].source, pins["lmcache"].line, values)


def _fault(mode: LMCacheMode, given: Given) -> dict[str, Any] | None:
    """What fails with the versions seen, an unseen one being any; None where nothing is known to."""
    seen = {name: given.versions[name].value if name in given.versions else "" for name in _PINNED}
    pair = known_pair(mode, seen["vllm"], seen["lmcache"], given.platform)
    if pair is None or pair.works:
        return None
    said = {"what": pair.what, "said_by": pair.source, "date": pair.date, "mode": mode.value}
    return {name: version or "?" for name, version in seen.items()} | said
