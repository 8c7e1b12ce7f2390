"""What a verdict rests on: texts read, servers, wirings, tiers and versions seen in them, and what was not seen."""

from collections.abc import Iterator, Mapping
from typing import Any

from kvtiers.errors import KvtiersError
from kvtiers.lint.findings import said
from kvtiers.lint.given import Given, Unseen, Value
from kvtiers.lint.rules.mp import adapters
from kvtiers.lint.rules.room import offloaded
from kvtiers.lint.setup import Facts, Setup, setups
from kvtiers.lint.values import raw_text
from kvtiers.tables import read_table
from kvtiers.words import LANGUAGES
from kvtiers.words.message import Message
from kvtiers.words.refusals import refusal

PARTS = ("read", "engine", "tier", "version", "unseen", "skipped")
_DECIDING = ("kv-transfer-config", "kv-offloading-size", "tensor-parallel-size", "pipeline-parallel-size", "config")
_UNSEEN = dict.fromkeys(("vllm", "lmcache"), said("lint.not_seen"))
_WIRINGS: dict[str, str] = read_table("lint/names.toml")["wirings"]


def coverage(given: Given) -> dict[str, list[Message]]:
    """Sentences by ``PARTS``; a part without any is empty."""
    every = list(setups(given, Facts()))
    parts = {
        "read": [_message("read", name=name, kind=said(f"lint.kind.{kind}")) for name, kind in given.read],
        "engine": [_engine(setup) for setup in every],
        "tier": [tier for setup in every for tier in _tiers(setup)],
        "version": [_message("version", **(_UNSEEN | _plain(one.versions))) for one in every if not one.alone],
        "unseen": [*_unseen(every, given)],
        "skipped": [*_skipped(given)],
    }
    for server in given.lmcache_servers:
        told = {"host": "localhost", "port": 5555} | _plain(server.options)
        parts["engine"].append(_message("server", place=server.place, host=told["host"], port=told["port"]))
        if "l1-size-gb" in told:
            parts["tier"].append(_message("tier_l1", size=told["l1-size-gb"]))
        parts["tier"] += [_below(adapter) for _, adapter in adapters(server) if adapter is not None]
    return {part: list({str(message): message for message in parts[part]}.values()) for part in PARTS}


def _plain(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: value.value for name, value in values.items()}


def _skipped(given: Given) -> Iterator[Message]:
    """What was not read, by the reason."""
    for why in dict.fromkeys(why for _, why in given.skipped):
        names = ", ".join(name for name, reason in given.skipped if reason == why)
        yield _message("skipped", name=names, why={one: refusal(KvtiersError(why), one) for one in LANGUAGES})


def _below(tier: Mapping[str, Any]) -> Message:
    return _message("tier_other", name=str(tier.get("type", "-")))


def _message(part: str, **values: object) -> Message:
    return Message(f"lint.cover.{part}", values)


def _engine(setup: Setup) -> Message:
    server, name, model = setup.server, setup.connector_name, setup.option("model")
    if setup.alone:
        return _message("settings_alone")
    known = not server.unseen and setup.connector_at is None
    wiring = _WIRINGS.get(name, "other") if name else "none" if known else "unseen"
    values = {"wiring": said(f"lint.wiring.{wiring}"), "connector": name or "-", "workers": setup.workers}
    return _message("engine", place=server.place, model=model.value if model else "-", **values)


def _tiers(setup: Setup) -> Iterator[Message]:
    """What is kept where, by the settings in force."""
    if setup.in_process and (setup.connector_names or setup.alone):
        disk, count = raw_text(setup.settings.get("local_disk")), setup.workers
        for kind, there, name in (
            ("tier_ram", setup.get("local_cpu"), "max_local_cpu_size"),
            ("tier_drive", "local_disk" in setup.settings, "max_local_disk_size"),
        ):
            size = setup.get(name)
            if there and isinstance(size, float) and setup.known_value(name):
                yield _message(kind, path=disk, size=size, count=count, total=size * count)
        for name in ("remote_url", "remote_storage_plugins"):
            if name in setup.settings:
                yield _message("tier_remote", name=name)
    region = offloaded(setup)
    if region:
        yield _message("tier_region", size=region[1])
    tiers = setup.extra.get("secondary_tiers")
    yield from (_below(tier) for tier in (tiers if isinstance(tiers, list) else []) if isinstance(tier, dict))


def _unseen(every: list[Setup], given: Given) -> Iterator[Message]:
    """What to give, so that nothing has to be guessed."""
    for setup in every:
        yield from map(_not_given, [*setup.server.unseen, *setup.unseen])
        for name, value in {**setup.settings, **setup.server.options}.items():
            if not value.literal and (name in setup.settings or name in _DECIDING):
                yield _message("variable", name=name, place=f"{value.source}:{value.line}")
        started = given.lmcache_servers or setup.extra.get("lmcache.mp.autostart")
        if "LMCacheMPConnector" in setup.connector_names and not started:
            yield _message("no_server")
    for server in given.lmcache_servers:
        yield from map(_not_given, server.unseen)
    if not given.servers and not given.lmcache_servers:
        yield _message("no_command")


def _not_given(unseen: Unseen) -> Message:
    kind = said(f"lint.unseen.{unseen.kind}")
    return _message("unseen", kind=kind, name=unseen.name, place=f"{unseen.source}:{unseen.line}")
