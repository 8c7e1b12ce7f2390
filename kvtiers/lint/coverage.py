"""What a verdict rests on: texts read, servers, wirings, tiers and versions seen in them, and what was not seen."""

from collections.abc import Iterator

from kvtiers.lint.findings import said
from kvtiers.lint.given import Given, Process, Unseen
from kvtiers.lint.rules.mp import adapters
from kvtiers.lint.rules.room import offloaded
from kvtiers.lint.setup import Facts, Setup, setups
from kvtiers.lint.values import raw_text
from kvtiers.words.message import Message

PARTS = ("read", "engine", "tier", "version", "unseen", "skipped")
_DECIDING = ("kv-transfer-config", "kv-offloading-size", "tensor-parallel-size", "pipeline-parallel-size", "config")
_WIRINGS = {
    "LMCacheMPConnector": "mp",
    "LMCacheConnectorV1": "in_process",
    "LMCacheConnector": "in_process",
    "OffloadingConnector": "offloading",
    "SimpleCPUOffloadConnector": "offloading",
}


def coverage(given: Given) -> dict[str, list[Message]]:
    """Sentences by ``PARTS``; a part without any is empty."""
    every = list(setups(given, Facts()))
    parts: dict[str, list[Message]] = {part: [] for part in PARTS}
    parts["read"] = [_message("read", name=name, kind=said(f"lint.kind.{kind}")) for name, kind in given.read]
    parts["engine"] = [*map(_engine, every), *map(_server, given.lmcache_servers)]
    for setup in every:
        parts["tier"] += _tiers(setup)
        if setup.server:
            parts["version"].append(_versions(setup))
    for server in given.lmcache_servers:
        parts["tier"] += _server_tiers(server)
    parts["unseen"] = [*_unseen(every, given)]
    parts["skipped"] = [_message("skipped", name=name, why=why) for name, why in given.skipped]
    return {part: list({str(message): message for message in messages}.values()) for part, messages in parts.items()}


def _message(part: str, **values: object) -> Message:
    return Message(f"lint.cover.{part}", values)


def _place(process: Process) -> str:
    return f"{process.source}:{process.line}"


def _engine(setup: Setup) -> Message:
    server = setup.server
    if server is None:
        return _message("settings_alone")
    name = setup.connector_name
    known = bool(name) or (not server.unseen and setup.connector_at is None)
    wiring = _WIRINGS.get(name, "other") if name else "none" if known else "unseen"
    model = server.options.get("model")
    values = {"wiring": said(f"lint.wiring.{wiring}"), "connector": name or "-", "workers": setup.workers}
    return _message("engine", place=_place(server), model=model.value if model else "-", **values)


def _server(server: Process) -> Message:
    host, port = server.options.get("host"), server.options.get("port")
    return _message(
        "server", place=_place(server), host=host.value if host else "localhost", port=port.value if port else 5555
    )


def _tiers(setup: Setup) -> Iterator[Message]:
    """What is kept where, by the settings in force."""
    if setup.in_process and (setup.connector_names or setup.server is None):
        size, limit = setup.get("max_local_cpu_size"), setup.get("max_local_disk_size")
        if setup.get("local_cpu") and isinstance(size, float) and setup.known_value("max_local_cpu_size"):
            yield _message("tier_ram", size=size, count=setup.workers, total=size * setup.workers)
        disk = setup.settings.get("local_disk")
        if disk and isinstance(limit, float) and setup.known_value("max_local_disk_size"):
            total = limit * setup.workers
            yield _message("tier_drive", path=raw_text(disk), size=limit, count=setup.workers, total=total)
        for name in ("remote_url", "remote_storage_plugins"):
            if name in setup.settings:
                yield _message("tier_remote", name=name)
    region = offloaded(setup)
    if region:
        yield _message("tier_region", size=region[1])
    tiers = setup.extra.get("secondary_tiers")
    for tier in tiers if isinstance(tiers, list) else []:
        if isinstance(tier, dict):
            yield _message("tier_other", name=str(tier.get("type", "-")))


def _server_tiers(server: Process) -> Iterator[Message]:
    size = server.options.get("l1-size-gb")
    if size:
        yield _message("tier_l1", size=size.value)
    for _, adapter in adapters(server):
        if isinstance(adapter, dict):
            yield _message("tier_other", name=str(adapter.get("type", "-")))


def _versions(setup: Setup) -> Message:
    def seen(name: str) -> object:
        return setup.versions[name].value if name in setup.versions else said("lint.not_seen")

    return _message("version", vllm=seen("vllm"), lmcache=seen("lmcache"))


def _unseen(every: list[Setup], given: Given) -> Iterator[Message]:
    """What to give, so that nothing has to be guessed."""
    for setup in every:
        server = setup.server
        for unseen in [*(server.unseen if server else []), *setup.unseen]:
            yield _not_given(unseen)
        values = {**setup.settings, **(server.options if server else {})}
        for name, value in values.items():
            if not value.literal and (name in setup.settings or name in _DECIDING):
                yield _message("variable", name=name, place=f"{value.source}:{value.line}")
        if "LMCacheMPConnector" in setup.connector_names and not given.lmcache_servers:
            yield _message("no_server")
    for server in given.lmcache_servers:
        yield from map(_not_given, server.unseen)
    if not given.servers and not given.lmcache_servers:
        yield _message("no_command")


def _not_given(unseen: Unseen) -> Message:
    kind = said(f"lint.unseen.{unseen.kind}")
    return _message("unseen", kind=kind, name=unseen.name, place=f"{unseen.source}:{unseen.line}")
