"""Rules about releases: names that the one which is seen has not yet, or no more; and which one is assumed where none
is seen."""

from collections.abc import Iterator, Mapping, Sequence

from kvtiers.lint.findings import Finding, at
from kvtiers.lint.given import Given, Invocation, Value
from kvtiers.lint.rules.mp import adapters
from kvtiers.lint.setup import Setup, extra_of
from kvtiers.settings.since import Name, of_adapter, of_connector, of_tier, releases
from kvtiers.settings.version_pairs import numbers

_SHOWN = {"vllm": "vLLM", "lmcache": "LMCache"}
# A name as the table has it, as people write it, and where.
_Use = tuple[Name, str, Value | Invocation]


def check(setups: Sequence[Setup], given: Given) -> Iterator[Finding]:
    """Findings about every server, LMCache's or vLLM's."""
    for server in given.lmcache_servers:
        yield from _judged(list(_of_server(server)), {**given.versions, **server.versions})
    for setup in setups:
        yield from _judged([*_of_connectors(setup), *_of_settings(setup)], setup.versions)


def _judged(uses: Sequence[_Use], versions: Mapping[str, Value]) -> Iterator[Finding]:
    for package, shown in _SHOWN.items():
        of_package = [use for use in uses if use[0].package == package]
        if package in versions:
            yield from _lacking(of_package, shown, str(versions[package].value))
        elif young := [use for use in of_package if use[0].since]:
            since = max((use[0].since for use in young), key=numbers)
            written = ", ".join(dict.fromkeys(use[1] for use in young))
            newest = releases(package)[-1]
            yield at(
                "release_assumed", young[0][2], certain=False, package=shown, names=written, since=since, newest=newest
            )


def _lacking(uses: Sequence[_Use], package: str, version: str) -> Iterator[Finding]:
    for name, written, place in uses:
        lack = name.lack(version)
        if lack and lack.since:
            yield at(
                "came_later", place, lack.certain, package=package, version=version, name=written, since=lack.since
            )
        elif lack:
            yield at(
                "gone_since", place, lack.certain, package=package, version=version, name=written, until=lack.until
            )


def _of_server(server: Invocation) -> Iterator[_Use]:
    for name, option in server.options.items():
        yield Name("lmcache", "server_options", name), f"--{name}", option
        yield Name("lmcache", "option_values", f"{name} {option.value}"), f"--{name} {option.value}", option
    for place, adapter in adapters(server):
        yield from ((name, written, place) for name, written in of_adapter(adapter or {}))


def _of_connectors(setup: Setup) -> Iterator[_Use]:
    place = setup.connector_at
    for config in setup.connectors if place else ():
        assert place is not None
        name, extra = str(config.get("kv_connector") or ""), extra_of(config)
        yield Name("vllm", "connectors", name), name, place
        for key in extra:
            known = of_connector(key)
            if known.package == "lmcache" or name == "OffloadingConnector":
                yield known, key, place
        tiers = extra.get("secondary_tiers")
        for tier in tiers if isinstance(tiers, list) else ():
            if isinstance(tier, dict):
                yield from ((known, written, place) for known, written in of_tier(tier))


def _of_settings(setup: Setup) -> Iterator[_Use]:
    for name, value in setup.settings.items() if setup.in_process else ():
        yield Name("lmcache", "settings", name), name, value
