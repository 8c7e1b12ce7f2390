"""Which release of vLLM and LMCache a plan's settings need."""

from collections.abc import Iterator

from kvtiers.settings.mp import server_command
from kvtiers.settings.since import Lack, Name, of_connector
from kvtiers.settings.wiring import Plan, connector, mp_mode, settings


def lacking(plan: Plan, vllm: str, lmcache: str) -> list[tuple[str, Lack]]:
    """What is written for the plan, as it is written, that these releases surely lack; an untold one lacks nothing."""
    versions = {"vllm": vllm, "lmcache": lmcache}
    lacks = ((written, name.lack(versions[name.package])) for name, written in _names(plan))
    return [(written, lack) for written, lack in lacks if lack and lack.certain]


def _names(plan: Plan) -> Iterator[tuple[Name, str]]:
    mode, wired = mp_mode(plan), connector(plan)
    for word in server_command(mode) if mode else ():
        if word.startswith("--"):
            yield Name("lmcache", "server_options", word[2:]), word
    if mode and mode.l2:
        kind = str(mode.l2.adapter()["type"])
        yield Name("lmcache", "l2_adapters", kind), f'--l2-adapter "type": "{kind}"'
    for setting in settings(plan):
        yield Name("lmcache", "settings", setting), setting
    yield Name("vllm", "connectors", str(wired["kv_connector"])), str(wired["kv_connector"])
    for key in wired.get("kv_connector_extra_config", {}):
        yield of_connector(key), key
